// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestObjects(t *testing.T) {
	objects, err := Objects()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, obj := range objects {
		got = append(got, describe(obj))
	}
	want := []string{
		"Deployment default/web",
		"ServiceAccount default/supersafe",
		"ClusterRole supersafe",
		"RoleBinding default/supersafe",
		"RoleBinding default/editor",
		"RoleBinding default/viewer",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSupersafeHoldsNoGeneralVerb holds the point of story 1 of KEP-3617: the role of supersafe has
// only verbs for reading, the verb granular and permission verbs, and no update or patch.
func TestSupersafeHoldsNoGeneralVerb(t *testing.T) {
	objects, err := Objects()
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, obj := range objects {
		if obj.GetKind() != "ClusterRole" {
			continue
		}
		roles++
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &role, true); err != nil {
			t.Fatal(err)
		}
		granular := 0
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				switch {
				case verb == "granular" || strings.HasPrefix(verb, "granular:"):
					granular++
				case verb != "get" && verb != "list" && verb != "watch":
					t.Errorf("%s has the verb %q", describe(obj), verb)
				}
			}
		}
		if granular != 5 {
			t.Errorf("%s has %d granular verbs, want the story's 5", describe(obj), granular)
		}
	}
	if roles != 1 {
		t.Fatalf("%d roles, want 1", roles)
	}
}
