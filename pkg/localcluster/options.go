// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// DefaultDir is where a cluster lives unless told otherwise.
	DefaultDir = ".kube-granular"
	// DefaultPort is not 6443, so that a real cluster on this machine stays undisturbed.
	DefaultPort = 16443
)

// Options are the choices of one who starts a cluster.
type Options struct {
	// Dir is the cluster's directory; made when absent.
	Dir string
	// Port is the server's port on 127.0.0.1; 0 picks a free one.
	Port int
	// EtcdServers are the URLs of an etcd to use instead of an embedded one.
	EtcdServers []string
	// FeatureGates are kube-apiserver's; GranularAuthorization is on unless they say otherwise.
	FeatureGates map[string]bool
	// AuthorizationConfig is a file for kube-apiserver's --authorization-config;
	// empty means RBAC.
	AuthorizationConfig string
	// AuditLog is a file to write an audit log of changes to; empty means none.
	AuditLog string
	// Demo asks for the first story's objects and users.
	Demo bool
	// Tenancy asks for the controller of tenants beside the server.
	Tenancy bool
	// ExtraArgs are further flags of kube-apiserver, which win over all others.
	ExtraArgs []string

	// Out receives what a script reads: what to try next, and at the end the line
	// "ready: URL". Progress receives the rest.
	Out, Progress io.Writer
}

// complete returns the options with absolute paths, or what is wrong with them.
func (o Options) complete() (Options, error) {
	if o.Port < 0 || o.Port > 65535 {
		return o, fmt.Errorf("--port %d: want a port between 1 and 65535, or 0 for any free one", o.Port)
	}
	for _, url := range o.EtcdServers {
		if !strings.Contains(url, "://") {
			return o, fmt.Errorf("--etcd-servers: %q is not a URL such as http://127.0.0.1:2379", url)
		}
	}
	if o.Dir == "" {
		return o, fmt.Errorf("--dir: the path is empty")
	}
	for _, path := range []*string{&o.Dir, &o.AuthorizationConfig, &o.AuditLog} {
		if *path == "" || path == &o.AuditLog && *path == "-" {
			continue
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return o, err
		}
		*path = abs
	}
	if o.AuthorizationConfig != "" {
		if _, err := os.Stat(o.AuthorizationConfig); err != nil {
			return o, fmt.Errorf("--authorization-config: %w", err)
		}
	}
	return o, nil
}

// relativePath returns the path as its reader would type it: relative to the current
// directory where it lies below that.
func relativePath(path string) string {
	cwd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}
