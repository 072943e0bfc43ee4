// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission_test

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/pkg/fieldpermission"
)

// TestRolesReportChanges holds that each role that is created, changed or removed is reported, so that the status does
// not go on naming the holders of before.
func TestRolesReportChanges(t *testing.T) {
	client, watched := fake.NewClientset(), watch.NewFake()
	client.PrependWatchReactor("clusterroles", clienttesting.DefaultWatchReactor(watched, nil))
	factory := informers.NewSharedInformerFactory(client, 0)
	changed := make(chan struct{})
	roles, err := fieldpermission.NewRoles(factory.Rbac().V1(), func() { changed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	if !roles.WaitForSync(t.Context().Done()) {
		t.Fatal("not synced")
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}
	for _, report := range []func(runtime.Object){watched.Add, watched.Modify, watched.Delete} {
		report(role.DeepCopy())
		select {
		case <-changed:
		case <-time.After(wait.ForeverTestTimeout):
			t.Fatal("a change is not reported")
		}
	}
}
