// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"io"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/kubeconfig"
)

// Access is how to reach a running cluster.
type Access struct {
	kubeconfigs kubeconfigs
}

// Administrator returns the configuration of a client that may do everything.
func (a *Access) Administrator() (*rest.Config, error) { return a.User(adminUser, adminGroup) }

// User returns the configuration of a client with a certificate for a user with groups.
func (a *Access) User(name string, groups ...string) (*rest.Config, error) {
	cert, key, err := a.kubeconfigs.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	authority := a.kubeconfigs.authority.CertificatePEM()
	return restConfig(kubeconfig.CreateWithCerts(a.kubeconfigs.url, clusterName, name, authority, key, cert))
}

// Token returns the configuration of a client that authenticates with a token.
func (a *Access) Token(token string) (*rest.Config, error) {
	authority := a.kubeconfigs.authority.CertificatePEM()
	return restConfig(kubeconfig.CreateWithToken(a.kubeconfigs.url, clusterName, "token", authority, token))
}

// Throwaway starts an empty cluster on a free port, calls use, and stops the cluster when use returns.
// The cluster is in a new temporary directory, which Throwaway removes. Of the options, Dir, Port,
// NoSync and Demo are ignored. Like Up, it must be called at most once in a process.
func Throwaway(ctx context.Context, o Options, use func(context.Context, *Access) error) (err error) {
	dir, err := os.MkdirTemp("", "kube-granular-test-")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	o.Dir, o.Port, o.NoSync, o.Demo, o.Out = dir, 0, true, false, io.Discard
	return runWith(ctx, o, func(ctx context.Context, _ *cluster, k kubeconfigs) error {
		return use(ctx, &Access{k})
	})
}
