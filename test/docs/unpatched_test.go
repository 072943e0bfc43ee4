// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// TestManagedClusters runs the commands of the tutorial about managed clusters against a kube-apiserver without the patches.
func TestManagedClusters(t *testing.T) {
	binary := harness.Unpatched(t)
	text := read(t, "tutorials/managed-clusters.md")
	steps, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	// Our server has the certificates, and answers no command.
	c := harness.Start(t, upArguments(text)...)
	unpatched := harness.StartUnpatched(t, binary, etcd.Start(t), c)
	r := newReader(t, c, t.TempDir(), nil)
	r.env = append(r.env, "KUBECONFIG="+kubeconfigFor(t, c, unpatched.URL))
	for _, s := range steps {
		if err := r.do(s); err != nil {
			t.Fatal(err)
		}
	}
}

// kubeconfigFor writes a kubeconfig of the administrator for a server with the certificates of c.
func kubeconfigFor(t *testing.T, c *cluster.Cluster, url string) string {
	t.Helper()
	return harness.KubeconfigWith(t, c, filepath.Join(t.TempDir(), "kubeconfig"), func(config *clientcmdapi.Config) {
		for _, one := range config.Clusters {
			one.Server = url
		}
	})
}
