// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestControllerClasses compares the classes with upstream's roles view, edit and admin. A
// permission that could be granted per object must be in one of these roles, so that its holder
// can delegate it. A permission of the class gatekeeping must be in none of them.
func TestControllerClasses(t *testing.T) {
	all, err := roles()
	if err != nil {
		t.Fatal(err)
	}
	people := peopleRules()
	writers := map[string]string{}
	for i := range all {
		rights, err := classify(&all[i], map[string]bool{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rights {
			by := smallestRole(people, r.right)
			switch r.class {
			case perObject:
				if by == "nobody" && r.right.resource != "*/scale" {
					t.Errorf("%s: nobody has %s on %s, so nobody could delegate it", all[i].Name, r.verb, r.resourceName())
				}
				writers[r.trigger] = all[i].Name
			case gatekeeping:
				if by != "nobody" {
					t.Errorf("%s: %s has %s on %s", all[i].Name, by, r.verb, r.resourceName())
				}
			}
		}
	}
	// Holders of the role edit may create the object that makes the controller act.
	for trigger, name := range writers {
		resource, group, _ := strings.Cut(trigger, ".")
		if by := smallestRole(people, right{group: group, resource: resource, verb: "create"}); by != "edit" {
			t.Errorf("%s: %s is written by %s", name, trigger, by)
		}
	}
}

// TestControllerRightsAreThoughtAbout holds that a permission without a class, such as one that
// upstream adds, is an error, and that an entry of the list that matches no permission is an error.
func TestControllerRightsAreThoughtAbout(t *testing.T) {
	role := func(name, group, resource string, verbs ...string) *rbacv1.ClusterRole {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + name},
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}}
	}
	for _, tc := range []struct {
		role *rbacv1.ClusterRole
		want class
	}{
		{role("new-controller", "apps", "deployments", "watch"), reads},
		{role("new-controller", "apps", "deployments/status", "patch"), own},
		{role("new-controller", "", "pods/finalizers", "update"), own},
		{role("new-controller", "", "events", "create"), own},
		{role("deployment-controller", "apps", "replicasets", "create"), perObject},
		{role("new-controller", "apps", "replicasets", "create"), ""},
		{role("deployment-controller", "apps", "replicasets", "deletecollection"), ""},
		{role("deployment-controller", "batch", "replicasets", "create"), ""},
		{role("new-controller", "", "pods/status", "patch"), ""},
		{role("new-controller", "", "nodes/status", "update"), ""},
		{role("new-controller", "*", "*", "*"), ""},
	} {
		got, err := classify(tc.role, map[string]bool{})
		if (err != nil) != (tc.want == "") || err == nil && (len(got) != 1 || got[0].class != tc.want) {
			t.Errorf("%+v: %+v, error %v, wanted %q", tc.role, got, err, tc.want)
		}
	}
	if err := checkUnused(map[string]bool{}); err == nil {
		t.Error("no line is about anything, and that is no error")
	}
}
