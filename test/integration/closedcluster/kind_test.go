// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"os"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestCloseKind closes all fields of the cluster that `hack/kind/test closed` made, for the tests that the script runs next.
// It is skipped unless the script sets KUBE_GRANULAR_KIND_CLOSED.
func TestCloseKind(t *testing.T) {
	if os.Getenv("KUBE_GRANULAR_KIND_CLOSED") == "" {
		t.Skip("no cluster: KUBE_GRANULAR_KIND_CLOSED is not set, which `hack/kind/test closed` does")
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	w := &closedCluster{client: kubernetes.NewForConfigOrDie(config), objects: dynamic.NewForConfigOrDie(config)}
	w.all = resources(t, w.client)
	w.closeAll(t, 0)
	t.Logf("%d resources closed", len(w.all))
}
