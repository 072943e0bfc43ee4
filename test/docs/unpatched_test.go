// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

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
	config, err := clientcmd.LoadFromFile(c.Kubeconfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range config.Clusters {
		one.Server = unpatched.URL
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, c, t.TempDir(), nil)
	r.env = append(r.env, "KUBECONFIG="+file)
	for _, s := range steps {
		if err := r.do(s); err != nil {
			t.Fatal(err)
		}
	}
}
