// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"kube-granular.dev/test/integration/cluster"
)

// kubelet says of its node and its pods what a kubelet says, with the credential of the node: pods run at once, those of
// jobs succeed, and those that are deleted end.
type kubelet struct {
	name   string
	client kubernetes.Interface
	made   atomic.Int32
}

// register makes a node as a kubelet does. Its heartbeat is that of this moment.
func register(t *testing.T, c *cluster.Cluster, name string) *kubelet {
	t.Helper()
	client, err := kubernetes.NewForConfig(configAs(t, c, "system:node:"+name, "system:nodes"))
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{name: name, client: client}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := k.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	return k
}

// run keeps the node alive until the test ends.
func (k *kubelet) run(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			if err := k.sync(ctx); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				t.Errorf("kubelet %s: %v", k.name, err)
			}
		}, 200*time.Millisecond) // a kubelet's pause between two looks
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (k *kubelet) sync(ctx context.Context) error {
	if err := k.beat(ctx); err != nil {
		return err
	}
	pods, err := k.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", k.name).String()})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		if err := k.handle(ctx, &pods.Items[i]); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

func (k *kubelet) handle(ctx context.Context, pod *corev1.Pod) error {
	pods := k.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		return pods.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	}
	phase := corev1.PodRunning
	if pod.Labels["job-name"] != "" {
		phase = corev1.PodSucceeded
	}
	if pod.Status.Phase == phase || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	pod.Status.Phase, pod.Status.StartTime = phase, ptr.To(metav1.Now())
	ip := fmt.Sprintf("10.244.0.%d", 1+k.made.Add(1)%250)
	pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	ready := corev1.ConditionTrue
	if phase == corev1.PodSucceeded {
		ready = corev1.ConditionFalse
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: ready, LastTransitionTime: metav1.Now()})
	}
	_, err := pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

// beat writes the status of the node and its lease.
func (k *kubelet) beat(ctx context.Context) error {
	now := metav1.Now()
	all := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("250"),
	}
	status := corev1.NodeStatus{Capacity: all, Allocatable: all, Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
	}}}
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	if _, err := k.client.CoreV1().Nodes().Patch(ctx, k.name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: k.name}}
	if found, err := leases.Get(ctx, k.name, metav1.GetOptions{}); err == nil {
		lease = found
	} else if !apierrors.IsNotFound(err) {
		return err
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &k.name, ptr.To[int32](40)
	lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
	if lease.UID == "" {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	return err
}

// mirror creates the mirror pod of a static pod that uses the network of the host, as a kubelet does.
func (k *kubelet) mirror(ctx context.Context, name string) error {
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods("kube-system").Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: k.name, UID: node.UID, Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: k.name, HostNetwork: true, PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	return err
}
