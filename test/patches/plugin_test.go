// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"os/exec"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/cluster"
)

// servers are packages of servers, which must not be linked into a client.
var servers = []string{
	"k8s.io/apiserver", "k8s.io/kubernetes", "k8s.io/kube-aggregator", "k8s.io/apiextensions-apiserver/pkg/apiserver", "go.etcd.io",
	"kube-granular.dev/pkg/gate", "kube-granular.dev/pkg/wiring", "kube-granular.dev/pkg/crd", "kube-granular.dev/pkg/expression",
	"kube-granular.dev/pkg/protected", "kube-granular.dev/pkg/registry", "kube-granular.dev/pkg/localcluster",
}

// TestPluginIsAClient checks that the kubectl plugin does not depend on packages of a server,
// directly or indirectly.
func TestPluginIsAClient(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	list := func(what string) []string {
		cmd := exec.Command("go", "list", "-deps", what)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", what, err)
		}
		return strings.Fields(string(out))
	}
	if met := serversIn(list("./cmd/kubectl-granular")); len(met) > 0 {
		t.Errorf("cmd/kubectl-granular is linked with %v", met)
	}
	// The same check does find these packages in the server.
	if met := serversIn(list("./cmd/kube-granular")); len(met) < len(servers)-1 {
		t.Errorf("of a server only %v were found", met)
	}
}

func serversIn(packages []string) []string {
	var out []string
	for _, s := range servers {
		for _, p := range packages {
			if p == s || strings.HasPrefix(p, s+"/") {
				out = append(out, s)
				break
			}
		}
	}
	return out
}
