// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// node is a machine without a kubelet, for tests that want pods to be placed, to become ready and to go. It says that each
// container runs, and that each deleted pod has stopped. No program ever runs.
type node struct {
	client kubernetes.Interface
	name   string
	pods   atomic.Int32
}

// address is that of the node. Nothing answers on the port of a kubelet.
const address = "127.0.0.1"

// startNode adds a node that is ready until the test ends.
func startNode(t *testing.T, config *rest.Config, name string) {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	n := &node{client: client, name: name}
	size := corev1.ResourceList{
		corev1.ResourceCPU: apiresource.MustParse("64"), corev1.ResourceMemory: apiresource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: apiresource.MustParse("256Gi"), corev1.ResourcePods: apiresource.MustParse("500"),
	}
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Ready",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}},
		Status: corev1.NodeStatus{Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{ready},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: address}}},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	placed := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", name).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(client, 5*time.Second, placed)
	pods := factory.Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { n.tend(t.Context(), pod.(*corev1.Pod)) },
		UpdateFunc: func(_, pod any) { n.tend(t.Context(), pod.(*corev1.Pod)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
}

// tend writes the status of a pod that a kubelet would write. An error is ignored: the informer repeats each pod soon.
func (n *node) tend(ctx context.Context, pod *corev1.Pod) {
	pods := n.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		stopped := metav1.NewPreconditionDeleteOptions(string(pod.UID))
		stopped.GracePeriodSeconds = new(int64)
		_ = pods.Delete(ctx, pod.Name, *stopped)
		return
	}
	if pod.Status.Phase != corev1.PodPending && pod.Status.ObservedGeneration == pod.Generation {
		return
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": n.running(pod)})
	if err != nil {
		return
	}
	_, _ = pods.Patch(ctx, pod.Name, apitypes.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
}

// running returns the status of a pod whose containers all run.
func (n *node) running(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	out := corev1.PodStatus{
		Phase: corev1.PodRunning, ObservedGeneration: pod.Generation, HostIP: address, PodIP: pod.Status.PodIP, StartTime: &now,
	}
	if out.PodIP == "" {
		i := n.pods.Add(1)
		out.PodIP = fmt.Sprintf("198.18.%d.%d", i/250%250, i%250+1)
	}
	out.PodIPs, out.HostIPs = []corev1.PodIP{{IP: out.PodIP}}, []corev1.HostIP{{IP: out.HostIP}}
	for _, condition := range []corev1.PodConditionType{
		corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodReadyToStartContainers,
	} {
		out.Conditions = append(out.Conditions, corev1.PodCondition{
			Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now, ObservedGeneration: pod.Generation,
		})
	}
	started := true
	for _, c := range pod.Spec.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, ContainerID: "none://" + string(pod.UID) + "/" + c.Name,
			Ready: true, Started: &started,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return out
}
