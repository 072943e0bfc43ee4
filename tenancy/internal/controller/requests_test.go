// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/terms"
)

// TestFinishedRequestsAreSwept checks that a finished request is kept for a while and then deleted, and that
// others stay.
func TestFinishedRequestsAreSwept(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	finished := func(days int) *metav1.Time {
		return &metav1.Time{Time: time.Now().Add(-time.Duration(days) * 24 * time.Hour).Add(-time.Minute)}
	}
	for name, tc := range map[string]struct {
		status v1alpha1.SudoRequestStatus
		swept  bool
		want   v1alpha1.RequestState
	}{
		"denied six days ago":   {v1alpha1.SudoRequestStatus{State: v1alpha1.RequestDenied, FinishedAt: finished(6)}, false, v1alpha1.RequestDenied},
		"denied seven days ago": {v1alpha1.SudoRequestStatus{State: v1alpha1.RequestDenied, FinishedAt: finished(7)}, true, ""},
		"ended seven days ago":  {v1alpha1.SudoRequestStatus{State: v1alpha1.RequestEnded, FinishedAt: finished(7)}, true, ""},
		"expired":               {v1alpha1.SudoRequestStatus{State: v1alpha1.RequestExpired, FinishedAt: finished(99)}, true, ""},
		"a time without an end": {v1alpha1.SudoRequestStatus{State: v1alpha1.RequestPending, FinishedAt: finished(99)}, false, v1alpha1.RequestExpired},
		"new":                   {v1alpha1.SudoRequestStatus{}, false, v1alpha1.RequestExpired},
	} {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "crew"}, Spec: v1alpha1.LNamespaceSpec{
			Sudoers: []v1alpha1.Subject{{Name: "ada"}}, Sudo: v1alpha1.Sudo{Approval: v1alpha1.ApprovalRequired}}}
		r := &v1alpha1.SudoRequest{
			ObjectMeta: metav1.ObjectMeta{Namespace: "crew", Name: "r", UID: "u", CreationTimestamp: metav1.Time{Time: time.Now().Add(-2 * terms.Patience)}},
			Spec:       v1alpha1.SudoRequestSpec{Duration: "1h", Reason: "x", Requester: v1alpha1.Person{Username: "ada"}}, Status: tc.status,
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(lns, r).WithStatusSubresource(r).Build()
		if err := controller.JudgeRequest(t.Context(), c, client.ObjectKeyFromObject(r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r)
		if (err != nil) != tc.swept || client.IgnoreNotFound(err) != nil || !tc.swept && r.Status.State != tc.want {
			t.Errorf("%s: %v: %+v", name, err, r.Status)
		}
	}
}
