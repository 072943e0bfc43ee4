// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

func groups(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("g%d", i)
	}
	return out
}

func subjectsOf(groups ...string) []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, group := range groups {
		out = append(out, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: group})
	}
	return out
}

// TestListedOnce holds that a lookup returns a binding only once, however many of the caller's
// groups the binding names, and however often those groups are repeated. A client that creates
// access reviews chooses both, and RBAC compares all subjects of each returned binding with all
// groups.
func TestListedOnce(t *testing.T) {
	few, all := groups(3), groups(maxGroups)
	for _, tc := range []struct {
		name             string
		bindings         int
		subjects, caller []string
	}{
		{"one subject", 1, few[:1], few},
		{"a group that is repeated", 1, few[:1], slices.Repeat(few[:1], maxGroups)},
		{"several subjects", 1, few, few},
		{"several bindings", 7, few, few},
		{"more bindings than are compared one by one", 50, few, few},
		{"all there may be", 50, all, all},
		{"more subjects than have a key", 3, groups(maxSubjects + 1), all},
		{"some are the caller's", 20, append([]string{"a", "b"}, few...), append([]string{"c"}, few...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPolicy()
			for i := range tc.bindings {
				put(t, p.bindings, binding("a", fmt.Sprintf("b%d", i), "r", subjectsOf(tc.subjects...)...))
				put(t, p.bindings, binding("a", fmt.Sprintf("others%d", i), "r", subjectsOf("others")...))
			}
			question := asks(&user.DefaultInfo{Name: "jane", Groups: tc.caller})
			got, err := Listers{}.Role(p.bindings, nil).ListRoleBindings(For(context.Background(), question), "a")
			if err != nil || len(got) != tc.bindings {
				t.Errorf("%d bindings and %v, wanted %d", len(got), err, tc.bindings)
			}
		})
	}
}

// TestNotLookedFor checks for which requests all bindings are listed without using the index,
// because the lookups would cost more. Otherwise a client that creates access reviews could make
// them cost as much as it likes.
func TestNotLookedFor(t *testing.T) {
	p := newPolicy()
	for i := range 9 {
		put(t, p.bindings, binding("a", fmt.Sprintf("b%d", i), "r", subjectsOf("g0")...))
	}
	lister := Listers{}.Role(p.bindings, all{p.bindings.GetStore()})
	for _, tc := range []struct {
		name      string
		groups    []string
		namespace string
		want      int
	}{
		{"as many groups as may be", append(groups(maxGroups)[1:], "h"), "a", 0},
		{"more groups", append(groups(maxGroups), "h"), "a", 9},
		{"one group, repeated", slices.Repeat([]string{"h"}, maxGroups+1), "a", 9},
		{"the longest name of a namespace", []string{"h"}, strings.Repeat("a", 63), 0},
		{"what is no name of a namespace", []string{"h"}, strings.Repeat("a", 64), 9},
	} {
		question := asks(&user.DefaultInfo{Name: "jane", Groups: tc.groups})
		question.Namespace = tc.namespace
		got, err := lister.ListRoleBindings(For(context.Background(), question), tc.namespace)
		if err != nil || len(got) != tc.want {
			t.Errorf("%s: %d bindings and %v, wanted %d", tc.name, len(got), err, tc.want)
		}
	}
}

// TestManySubjects holds that the number of index keys of a binding is limited, however many
// subjects it has: all checks of RBAC wait while a binding is indexed.
func TestManySubjects(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 1, maxSubjects: maxSubjects, maxSubjects + 1: 1, 30000: 1} {
		if got := len(subjectKeys("a", subjectsOf(groups(n)...))); got != want {
			t.Errorf("%d subjects: %d keys, wanted %d", n, got, want)
		}
	}
}
