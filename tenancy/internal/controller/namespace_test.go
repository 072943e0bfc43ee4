// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/names"
)

// TestBelongs checks which namespaces belong to a tenant. Each case that belongs differs in one
// respect from a case that does not.
func TestBelongs(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		recorded   types.UID
		annotation map[string]string
		age        time.Duration
		going      bool
		reason     string
		adopted    bool
	}{
		"nobody's":              {reason: controller.ReasonNotOurs},
		"recorded":              {recorded: "ns"},
		"another was recorded":  {recorded: "old", reason: controller.ReasonNotOurs},
		"made and not recorded": {annotation: map[string]string{names.CreatedFor: "lns"}},
		"made, they say, but it is older": {annotation: map[string]string{names.CreatedFor: "lns"},
			age: time.Second, reason: controller.ReasonNotOurs},
		"made for another": {annotation: map[string]string{names.CreatedFor: "other"},
			reason: controller.ReasonNotOurs},
		"adopted": {annotation: map[string]string{names.AdoptedBy: "lns"},
			age: time.Hour, adopted: true},
		"adopted for another of the name": {annotation: map[string]string{names.AdoptedBy: "other"},
			age: time.Hour, reason: controller.ReasonNotOurs},
		"recorded and going": {recorded: "ns", going: true, reason: controller.ReasonTerminating},
		"adopted and going": {annotation: map[string]string{names.AdoptedBy: "lns"}, going: true,
			reason: controller.ReasonTerminating},
		"another was recorded, and it is made": {recorded: "old",
			annotation: map[string]string{names.CreatedFor: "lns"}},
	} {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "lns", CreationTimestamp: metav1.NewTime(now)}}
		lns.Status.NamespaceUID = tc.recorded
		ns := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "ns", Annotations: tc.annotation, CreationTimestamp: metav1.NewTime(now.Add(-tc.age))}}
		if tc.going {
			ns.DeletionTimestamp = &metav1.Time{Time: now}
		}
		if reason, adopted, uid := controller.Belongs(lns, ns); reason != tc.reason || adopted != tc.adopted || uid != "ns" {
			t.Errorf("%s: %s, %t, %s", name, reason, adopted, uid)
		}
	}
}
