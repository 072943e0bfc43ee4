// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/utils/ptr"

	"kube-granular.dev/test/integration/harness"
)

// live lets the objects of a namespace live, from their creation to the end of the namespace.
func (w *closedCluster) live(t *testing.T, namespace string) {
	w.create(t, "testdata/life.yaml", namespace)
	get := func(what, want, object, template string) {
		t.Helper()
		w.has(t, what, want, namespace, object, template)
	}
	get("the deployment is ready, as its autoscaler wants it", "^3$", "deployments.apps/web", "{.status.availableReplicas}")
	harness.MustKubectl(t, w.Cluster, "", "set", "image", "-n", namespace, "deployments.apps/web", "c=two")
	get("the new image is rolled out", "^3 3 3$", "deployments.apps/web", "{.status.updatedReplicas} {.status.availableReplicas} {.status.replicas}")
	get("the replica set", "^1$", "replicasets.apps/alone", "{.status.readyReplicas}")
	get("the stateful set", "^1$", "statefulsets.apps/store", "{.status.readyReplicas}")
	get("the volume is bound", "^Bound "+namespace+"-volume$", "persistentvolumeclaims/data-store-0", "{.status.phase} {.spec.volumeName}")
	get("the daemon set", "^1$", "daemonsets.apps/agent", "{.status.numberReady}")
	get("the replication controller", "^1$", "replicationcontrollers/old", "{.status.readyReplicas}")
	get("the job is complete", "^2 True$", "jobs.batch/once", `{.status.succeeded} {.status.conditions[?(@.type=="Complete")].status}`)
	get("the cron job", "^2", "cronjobs.batch/hourly", "{.status.lastSuccessfulTime}")
	get("endpoint slices", `^\S+ \S+ \S+$`, "endpointslices.discovery.k8s.io?kubernetes.io/service-name=web", "{.items[*].endpoints[*].addresses[0]}")
	get("endpoints", `^\S+ \S+ \S+$`, "endpoints/web", "{.subsets[*].addresses[*].ip}")
	get("mirrored endpoints", "^192.0.2.1$", "endpointslices.discovery.k8s.io?kubernetes.io/service-name=mirrored", "{.items[*].endpoints[*].addresses[0]}")
	get("the disruption budget", "^3 2$", "poddisruptionbudgets.policy/web", "{.status.currentHealthy} {.status.disruptionsAllowed}")
	get("the quota", `^\d+$`, "resourcequotas/quota", "{.status.used.pods}")
	get("the authority", "BEGIN CERTIFICATE", "configmaps/kube-root-ca.crt", `{.data.ca\.crt}`)
	get("the token", "^.+$", "secrets/token", "{.data.token}")
	get("the claim of an ephemeral volume", "^Pod$", "persistentvolumeclaims/ephemeral-scratch", "{.metadata.ownerReferences[0].kind}")
	w.gone(t, "jobs.batch", namespace, "swept")

	// The volume and its claim are protected as long as they are used.
	w.remove(t, "persistentvolumes", "", namespace+"-volume", metav1.DeletePropagationBackground)
	w.remove(t, "persistentvolumeclaims", namespace, "data-store-0", metav1.DeletePropagationBackground)
	get("the claim is protected", "^2", "persistentvolumeclaims/data-store-0", "{.metadata.deletionTimestamp}")
	w.remove(t, "statefulsets.apps", namespace, "store", metav1.DeletePropagationBackground)
	w.gone(t, "persistentvolumeclaims", namespace, "data-store-0")
	w.gone(t, "persistentvolumes", "", namespace+"-volume")

	w.remove(t, "deployments.apps", namespace, "web", metav1.DeletePropagationOrphan)
	w.gone(t, "deployments.apps", namespace, "web")
	get("orphans", "^ $", "replicasets.apps?app=web", "{.items[0].metadata.ownerReferences} {.items[1].metadata.ownerReferences}")
	w.remove(t, "replicasets.apps", namespace, "alone", metav1.DeletePropagationForeground)
	w.gone(t, "replicasets.apps", namespace, "alone")
	get("pods of the deleted replica set", "^$", "pods?app=alone", "{.items[*].metadata.name}")
	w.remove(t, "daemonsets.apps", namespace, "agent", metav1.DeletePropagationBackground)
	get("pods of the daemon set", "^$", "pods?app=agent", "{.items[*].metadata.name}")
	w.remove(t, "namespaces", "", namespace, metav1.DeletePropagationBackground)
	w.gone(t, "namespaces", "", namespace)
}

// liveOutside lets objects outside of namespaces live, and those of kubeadm.
func (w *closedCluster) liveOutside(t *testing.T) {
	w.create(t, "testdata/cluster.yaml", "")
	w.has(t, "the range is protected", "service-cidr", "", "servicecidrs.networking.k8s.io/more", "{.metadata.finalizers}")
	w.has(t, "the class is protected", "vac-protection", "", "volumeattributesclasses.storage.k8s.io/fast", "{.metadata.finalizers}")
	w.has(t, "the signature", `\.\.`, "kube-public", "configmaps/cluster-info", "{.data.jws-kubeconfig-abcdef}")
	w.gone(t, "secrets", "kube-system", "bootstrap-token-fedcba")
	w.remove(t, "servicecidrs.networking.k8s.io", "", "more", metav1.DeletePropagationBackground)
	w.gone(t, "servicecidrs.networking.k8s.io", "", "more")
	w.remove(t, "volumeattributesclasses.storage.k8s.io", "", "fast", metav1.DeletePropagationBackground)
	w.gone(t, "volumeattributesclasses.storage.k8s.io", "", "fast")
}

// failingNode lets a node fail: it gets a taint, and its pod is evicted.
func (w *closedCluster) failingNode(t *testing.T) {
	second := register(t, w.Cluster, "n2")
	tolerations := []corev1.Toleration{}
	for _, key := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		tolerations = append(tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](0)})
	}
	pods := w.client.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "evicted"}, Spec: corev1.PodSpec{
		NodeSelector: map[string]string{corev1.LabelHostname: "n2"}, Tolerations: tolerations, Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the pod is on the node", func() bool {
		if err := second.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		pod, err := pods.Get(t.Context(), "evicted", metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName == "n2"
	})
	w.has(t, "the taint", "node.kubernetes.io/unreachable", "", "nodes/n2", "{.spec.taints[*].key}")
	w.has(t, "the eviction", "DeletionByTaintManager", "default", "pods/evicted", `{.status.conditions[?(@.type=="DisruptionTarget")].reason}`)
	if err := pods.Delete(t.Context(), "evicted", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	w.remove(t, "nodes", "", "n2", metav1.DeletePropagationBackground)
}

// create creates the objects of a file. NAMESPACE in it stands for the namespace, which the first object is if it is not
// empty.
func (w *closedCluster) create(t *testing.T, file, namespace string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.ReplaceAll(string(text), "NAMESPACE", namespace)
	if namespace != "" {
		first, rest, _ := strings.Cut(all, "\n---\n")
		harness.MustKubectl(t, w.Cluster, first, "apply", "-f", "-")
		w.has(t, "the account", "^default$", namespace, "serviceaccounts/default", "{.metadata.name}")
		all = rest
	}
	harness.MustKubectl(t, w.Cluster, all, "apply", "-f", "-")
}

// has waits until a field of an object matches an expression. object is a resource, a slash and a name, or a resource, a
// question mark and a selector for labels. template is as for kubectl's jsonpath; a missing field is empty.
func (w *closedCluster) has(t *testing.T, what, want, namespace, object, template string) {
	t.Helper()
	field := jsonpath.New(what).AllowMissingKeys(true)
	if err := field.Parse(template); err != nil {
		t.Fatal(err)
	}
	resource, selector, list := strings.Cut(object, "?")
	resource, name, _ := strings.Cut(resource, "/")
	objects := w.objects.Resource(schema.ParseGroupResource(resource).WithVersion("v1")).Namespace(namespace)
	expression, last, matched := regexp.MustCompile(want), "", false
	defer func() {
		if !matched {
			t.Logf("%s: last seen: %q", what, last)
		}
	}()
	harness.Until(t, what, func() bool {
		var found interface{ UnstructuredContent() map[string]any }
		var err error
		if list {
			found, err = objects.List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		} else {
			found, err = objects.Get(t.Context(), name, metav1.GetOptions{})
		}
		var out strings.Builder
		if err == nil {
			err = field.Execute(&out, found.UnstructuredContent())
		}
		if last = out.String(); err != nil {
			last = err.Error()
		}
		matched = err == nil && expression.MatchString(last)
		return matched
	})
}

// gone waits until an object of a version v1 does not exist.
func (w *closedCluster) gone(t *testing.T, resource, namespace, name string) {
	t.Helper()
	objects := w.objects.Resource(schema.ParseGroupResource(resource).WithVersion("v1")).Namespace(namespace)
	harness.Until(t, resource+"/"+name+" is gone", func() bool {
		_, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func (w *closedCluster) remove(t *testing.T, resource, namespace, name string, policy metav1.DeletionPropagation) {
	t.Helper()
	objects := w.objects.Resource(schema.ParseGroupResource(resource).WithVersion("v1")).Namespace(namespace)
	if err := objects.Delete(t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
}
