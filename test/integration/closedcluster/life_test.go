// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// closedCluster is a server with everything that lives in a cluster.
type closedCluster struct {
	*cluster.Cluster
	client  kubernetes.Interface
	objects dynamic.Interface
	log     string
	node    *kubelet
	all     []*closing
}

// TestClusterGoesOn closes every field of every built-in kind that can be closed, and lets a cluster live: workloads are
// rolled out, scaled, finished and removed; volumes are bound and protected; nodes fail; namespaces end. No account of
// the system is refused anything. Pods have more fields than one FieldPermission can close, so that one is written several
// times.
//
// Attack: an exclusion stops what controllers, the scheduler or kubelets do: no pods, no garbage collection, no volumes, no certificates
// Answer: a life with every field closed in mode Enforce; without the bootstrap binding, the same accounts are refused
func TestClusterGoesOn(t *testing.T) {
	flags, log, err := harness.LogChanges(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--demo=false", "--feature-gates", "FieldPermissions=true", "--", "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction"}
	c := harness.Start(t, append(args, flags...)...)
	w := &closedCluster{Cluster: c, client: harness.Administrator(t, c), log: log}
	if w.objects, err = dynamic.NewForConfig(harness.Config(t, c, "admin")); err != nil {
		t.Fatal(err)
	}
	w.all = resources(t, w.client)
	rounds := w.closeAll(t, 0)
	t.Logf("%d resources closed, pods in %d parts", len(w.all), rounds)
	startControllers(t, c)
	w.node = register(t, c, "n1")
	w.node.run(t)

	for i := range rounds {
		t.Run(fmt.Sprintf("part %d of pods", i+1), func(t *testing.T) {
			w.closeAll(t, i)
			w.live(t, fmt.Sprintf("life%d", i))
		})
	}
	t.Run("the whole cluster", w.liveOutside)
	t.Run("a node that fails", w.failingNode)
	if err := w.node.mirror(t.Context(), "static"); err != nil {
		t.Errorf("a mirror pod: %v", err)
	}
	done, refused, events := writes(t, log, 0)
	for _, r := range refused {
		t.Errorf("%s may not %s %s: %s", r.user, r.verb, r.resource, r.message)
	}
	wrote := map[string]int{}
	for _, d := range done {
		wrote[d.user]++
	}
	t.Logf("%d writes of %d accounts: %v", len(done), len(wrote), wrote)
	for _, account := range accounts {
		if wrote[account] == 0 {
			t.Errorf("%s wrote nothing, so it is not known whether it goes on", account)
		}
	}
	t.Run("the editor", w.editorIsHeld)
	t.Run("without the binding", func(t *testing.T) { w.unbound(t, events) })
}

// accounts are those that write in the life of the cluster.
var accounts = []string{
	"system:kube-scheduler", "system:kube-controller-manager", "system:node:n1", "bootstrap-signer", "cronjob-controller", "daemon-set-controller",
	"deployment-controller", "disruption-controller", "endpoint-controller", "endpointslice-controller", "endpointslicemirroring-controller",
	"ephemeral-volume-controller", "generic-garbage-collector", "horizontal-pod-autoscaler", "job-controller", "namespace-controller",
	"node-controller", "persistent-volume-binder", "pv-protection-controller", "pvc-protection-controller", "replicaset-controller",
	"replication-controller", "resourcequota-controller", "root-ca-cert-publisher", "service-account-controller", "service-cidrs-controller",
	"statefulset-controller", "token-cleaner", "ttl-after-finished-controller", "volumeattributesclass-protection-controller",
}

// closeAll closes all fields of all resources, and returns how many parts the fields of the largest resource have.
func (w *closedCluster) closeAll(t *testing.T, part int) int {
	t.Helper()
	parts := 1
	for _, r := range w.all {
		chunks := slices.Collect(slices.Chunk(r.paths, overlay.MaxFields))
		parts = max(parts, len(chunks))
		object := &unstructured.Unstructured{Object: r.object(chunks[part%len(chunks)])}
		options := metav1.ApplyOptions{FieldManager: "closing", Force: true}
		if _, err := w.objects.Resource(fieldPermissions).Apply(t.Context(), r.name, object, options); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

var fieldPermissions = schema.GroupVersionResource{Group: "authority.kube-granular.dev", Version: "v1alpha1", Resource: "fieldpermissions"}
