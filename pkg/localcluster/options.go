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
	// DefaultDir is the default directory of a cluster.
	DefaultDir = ".kube-granular"
	// DefaultPort differs from 6443, which a real cluster on this machine may use.
	DefaultPort = 16443
)

// Options configure a cluster.
type Options struct {
	// Dir is the directory of the cluster. It is created if needed.
	Dir string
	// Port is the server's port on 127.0.0.1; 0 picks a free one.
	Port int
	// EtcdServers are the URLs of an etcd to use instead of an embedded one.
	EtcdServers []string
	// NoSync makes the embedded etcd faster. A crash of the machine can damage its data.
	NoSync bool
	// FeatureGates are gates of kube-apiserver. GranularAuthorization is on unless this map turns
	// it off.
	FeatureGates map[string]bool
	// AuthorizationConfig is a file for kube-apiserver's --authorization-config;
	// empty means RBAC.
	AuthorizationConfig string
	// AuditLog is the file for an audit log; empty means none. audit-policy.yaml says what it has.
	AuditLog string
	// Demo creates the objects and users of the demo.
	Demo bool
	// Tenancy runs the tenancy controller.
	Tenancy bool
	// ExtraArgs are further flags of kube-apiserver, which override all others.
	ExtraArgs []string

	// Out receives the output for users and scripts: commands to try, and as the last line
	// "ready: URL". Progress receives all other messages.
	Out, Progress io.Writer
}

// complete validates the options and returns them with absolute paths.
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

// relativePath returns a path below the current directory as a relative path, and any other path
// unchanged.
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
