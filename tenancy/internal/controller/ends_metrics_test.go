// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
)

// TestOverdueTenants checks which tenants the metric of overdue ends counts, and that it looks only at those in which
// something ends: it is read again and again, and most tenants have no ends.
func TestOverdueTenants(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	ada := v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: "ada"}
	ended, later := ada, ada
	ended.Until, later.Until = noon.Format(time.RFC3339), noon.Add(time.Second).Format(time.RFC3339)
	tenant := func(name string, user v1alpha1.Subject, sudo ...v1alpha1.Subject) *v1alpha1.LNamespace {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		lns.Spec.Users, lns.Status.Granted.Users = []v1alpha1.Subject{user}, []v1alpha1.Subject{ada}
		for _, subject := range sudo {
			lns.Status.Sudo = append(lns.Status.Sudo, v1alpha1.GrantedSudo{Subject: subject})
		}
		return lns
	}
	objects := []client.Object{
		tenant("ended", ended), tenant("later", later), tenant("sudo-ended", ada, ended), tenant("sudo-later", ada, later),
	}
	const without = 50
	for i := range without {
		objects = append(objects, tenant(fmt.Sprint("without-", i), ada))
	}
	seen := 0
	counting := func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
		err := c.List(ctx, list, o...)
		if found, ok := list.(*v1alpha1.LNamespaceList); ok {
			seen += len(found.Items)
		}
		return err
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&v1alpha1.LNamespace{}, controller.EndsIndex, controller.IndexEnds).
		WithInterceptorFuncs(interceptor.Funcs{List: counting}).Build()
	if got := controller.Overdue(t.Context(), c, noon); got != 2 || seen != 4 {
		t.Errorf("%d tenants are overdue of %d seen; want 2 of 4", got, seen)
	}
	if got := controller.Overdue(t.Context(), c, noon.Add(time.Second)); got != 4 {
		t.Errorf("%d tenants are overdue when all have ended", got)
	}
}
