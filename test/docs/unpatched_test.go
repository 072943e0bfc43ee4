// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// TestManagedClusters runs the commands of the tutorial about managed clusters against a kube-apiserver without the patches.
func TestManagedClusters(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "bin", "kube-apiserver-unpatched")
	if _, err := os.Stat(binary); err != nil {
		if os.Getenv("KUBE_GRANULAR_REQUIRE_UNPATCHED") != "" {
			t.Fatal(err)
		}
		t.Skip("bin/kube-apiserver-unpatched is missing: run `make bin/kube-apiserver-unpatched`")
	}
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
