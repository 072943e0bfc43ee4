// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
)

// TestKeepAPIService holds that keepAPIService creates the APIService again whenever it is
// deleted, and otherwise leaves it unchanged.
func TestKeepAPIService(t *testing.T) {
	clientset := fake.NewClientset()
	client := clientset.ApiregistrationV1().APIServices()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := keepAPIService(ctx, clientset); err != nil {
			t.Error(err)
		}
	}()
	there := func() {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			got, err := client.Get(ctx, apiServiceName, metav1.GetOptions{})
			return err == nil && got.Spec.GroupPriorityMinimum == Priority.Group && got.Labels["kube-aggregator.kubernetes.io/automanaged"] == "onstart", nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	there()
	for range 3 {
		if err := client.Delete(ctx, apiServiceName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		there()
	}
	if list, err := client.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("%d APIServices, error %v", len(list.Items), err)
	}
	stop()
	<-done
}
