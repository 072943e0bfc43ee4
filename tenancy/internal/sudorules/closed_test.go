// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudorules_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	authority "kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/tenancy/internal/sudorules"
)

// TestClosed checks which fields are reported as closed to sudo: the excluded ones of resources that sudo writes.
func TestClosed(t *testing.T) {
	object := func(name string, mode authority.Mode, paths ...string) authority.FieldPermission {
		out := authority.FieldPermission{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: authority.FieldPermissionSpec{Mode: mode}}
		for _, path := range paths {
			path, excluded := strings.CutSuffix(path, " excluded")
			out.Spec.Fields = append(out.Spec.Fields, authority.FieldEntry{Path: path, Permission: "example.com/a", Excluded: excluded})
		}
		return out
	}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"services", "pods"}, Verbs: []string{"get", "update"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"endpoints"}, Verbs: []string{"get", "list", "watch", "delete"}},
	}
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(".spec.f%03d excluded", i)
	}
	for name, tc := range map[string]struct {
		all  []authority.FieldPermission
		want string
	}{
		"none": {nil, ""},
		"enforced and a name": {[]authority.FieldPermission{object("services", authority.ModeEnforce, ".spec.externalIPs excluded", ".spec.type")},
			"services .spec.externalIPs: granular:example.com/a"},
		"counted": {[]authority.FieldPermission{object("deployments.apps", authority.ModeAudit, ".spec.paused excluded")},
			"deployments.apps .spec.paused: granular:example.com/a, in mode Audit"},
		"pods": {[]authority.FieldPermission{object("pods", authority.ModeEnforce, ".spec.hostNetwork excluded")},
			"pods .spec.hostNetwork: granular:example.com/a, also in pod templates"},
		"only read, of others, another group": {[]authority.FieldPermission{object("endpoints", authority.ModeEnforce, ".subsets excluded"),
			object("nodes", authority.ModeEnforce, ".spec.taints excluded"), object("services.example.com", authority.ModeEnforce, ".spec.a excluded")}, ""},
		"sorted": {[]authority.FieldPermission{object("services", authority.ModeEnforce, ".spec.b excluded", ".spec.a excluded")},
			"services .spec.a: granular:example.com/a\nservices .spec.b: granular:example.com/a"},
	} {
		if got := sudorules.Closed(tc.all, rules); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	long := sudorules.Closed([]authority.FieldPermission{object("services", authority.ModeEnforce, many...)}, rules)
	if lines := strings.Split(long, "\n"); len(lines) != 257 || lines[256] != "44 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
