// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
)

// TestManyLeftoversHideNoOthers checks that the status has entries of all makers, even if one of them
// made many objects.
func TestManyLeftoversHideNoOthers(t *testing.T) {
	var found []v1alpha1.Leftover
	for i := range 100 {
		found = append(found, v1alpha1.Leftover{Kind: "RoleBinding", Name: fmt.Sprintf("a%03d", i), Maker: "many"})
	}
	few := []v1alpha1.Leftover{{Kind: "RoleBinding", Name: "z", Maker: "few"}, {Kind: "Secret", Name: "z", Maker: "few"}, {Kind: "Secret", Name: "y", Maker: "other"}}
	got := controller.Fairly(append(slices.Clone(found), few...))
	if len(got) != 64 {
		t.Errorf("%d entries", len(got))
	}
	for _, l := range append(few, found[:61]...) {
		if !slices.Contains(got, l) {
			t.Errorf("%v is hidden", l)
		}
	}
	if got := controller.Fairly(few); !slices.Equal(got, few) {
		t.Errorf("few: %v", got)
	}
}

// TestStatusSaysHowManyLeftoversItLeavesOut checks the message of the condition Clean.
func TestStatusSaysHowManyLeftoversItLeavesOut(t *testing.T) {
	for count, want := range map[int]string{64: "", 65: "and 1 more", 164: "and 100 more"} {
		var found []v1alpha1.Leftover
		for i := range count {
			found = append(found, v1alpha1.Leftover{Kind: "Secret", Name: fmt.Sprint(i), Maker: "ada"})
		}
		lns := &v1alpha1.LNamespace{}
		controller.RecordLeftovers(lns, found)
		clean := lns.Status.Conditions[0]
		if len(lns.Status.Leftovers) != 64 || clean.Status != metav1.ConditionFalse || !strings.Contains(clean.Message, want) || strings.Contains(clean.Message, "more") != (want != "") {
			t.Errorf("%d: %d entries, %+v", count, len(lns.Status.Leftovers), clean)
		}
	}
}

// TestOnlyConflictsAreNoFailure checks that an error counts as a conflict only if all of it does.
func TestOnlyConflictsAreNoFailure(t *testing.T) {
	conflict := fmt.Errorf("update: %w", apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("stale")))
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{conflict, true}, {errors.Join(conflict, conflict), true}, {errors.Join(conflict, errors.New("quota")), false}, {errors.New("quota"), false},
	} {
		if got := controller.IsConflict(tc.err); got != tc.want {
			t.Errorf("%v: %t", tc.err, got)
		}
	}
}

// TestLeftoversAreListedOnceInAMoment checks when the objects of a former sudoer are listed again:
// after half an interval, after a change of the specification or of those who have sudo, for another tenant of the
// same name, and after an error.
func TestLeftoversAreListedOnceInAMoment(t *testing.T) {
	var e controller.Examinations
	listed := 0
	var failure error
	found := []v1alpha1.Leftover{{Kind: "Secret", Name: "s", Maker: "ada"}}
	examine := func() ([]v1alpha1.Leftover, error) {
		listed++
		return found, failure
	}
	start := time.Unix(1000, 0)
	for i, step := range []struct {
		uid        types.UID
		generation int64
		after      time.Duration
		failure    error
		listed     int
		acting     []v1alpha1.Subject
	}{
		{"a", 1, 0, nil, 1, nil},
		{"a", 1, 0, nil, 1, nil},
		{"a", 1, 14 * time.Second, nil, 1, nil},
		{"a", 1, 15 * time.Second, nil, 2, nil},
		{"a", 1, 29 * time.Second, nil, 2, nil},
		{"a", 2, 29 * time.Second, nil, 3, nil},
		{"b", 2, 29 * time.Second, nil, 4, nil},
		{"a", 2, 43 * time.Second, nil, 4, nil},
		{"a", 2, 60 * time.Second, errors.New("no answer"), 5, nil},
		{"a", 2, 60 * time.Second, nil, 6, nil},
		{"a", 2, 60 * time.Second, nil, 7, []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada"}}},
		{"a", 2, 60 * time.Second, nil, 7, []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada"}}},
		{"a", 2, 60 * time.Second, nil, 8, nil},
	} {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: step.uid, Generation: step.generation}}
		failure = step.failure
		got, err := e.List(lns, step.acting, start.Add(step.after), examine)
		if listed != step.listed || !slices.Equal(got, found) || !errors.Is(err, step.failure) {
			t.Errorf("step %d: listed %d times, want %d; found %v, %v", i, listed, step.listed, got, err)
		}
	}
}
