// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/roles"
)

// TestRoleNames checks that roles of different subjects have different names, and that the name of a subject is always the same.
//
// Attack: a subject with a name of its own choice is learned from an audit log, so that its roles have the names of another subject's,
// who gets its rights when both are applied
// Answer: the names end in a hash of the subject
// Was: got through
func TestRoleNames(t *testing.T) {
	seen := map[string]string{}
	for text, begin := range map[string]string{
		"user:x": "learned-x-", "group:x": "learned-x-", "user:system:node:a": "learned-system-node-a-",
		"user:x:y": "learned-x-y-", "user:x-y": "learned-x-y-", "user:x/y": "learned-x-y-", "user:x%y": "learned-x-y-",
		"serviceaccount:kube-admin/bot": "learned-kube-admin-bot-", "serviceaccount:kube/admin-bot": "learned-kube-admin-bot-",
		"user:kube-admin-bot": "learned-kube-admin-bot-",
	} {
		subject, err := roles.ParseSubject(text)
		if err != nil {
			t.Fatal(err)
		}
		name := newSubject(subject).RoleName()
		if !strings.HasPrefix(name, begin) || strings.ContainsAny(name, "/%:") {
			t.Errorf("%s: %s, wanted %s…", text, name, begin)
		}
		if other := seen[name]; other != "" {
			t.Errorf("%s and %s share the name %s", text, other, name)
		}
		seen[name] = text
		if again := newSubject(subject).RoleName(); again != name {
			t.Errorf("%s: %s and %s", text, name, again)
		}
	}
	// The rules do not change it: a longer log widens the roles that exist.
	learned := newSubject(rbacv1.Subject{Kind: rbacv1.UserKind, Name: "x"})
	before := learned.RoleName()
	learned.needsFor(t.Context(), ResourceKey{Resource: "pods"}, "a")
	if after := learned.RoleName(); after != before {
		t.Errorf("%s and %s", before, after)
	}
}
