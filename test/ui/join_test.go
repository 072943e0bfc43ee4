// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"
)

// at returns an element of a snapshot, by keys and indexes.
func at(element any, path ...any) any {
	for _, step := range path {
		if key, ok := step.(string); ok {
			element = element.(map[string]any)[key]
		} else {
			element = element.([]any)[step.(int)]
		}
	}
	return element
}

// numbers returns a list of indexes of a snapshot.
func numbers(all ...float64) []any {
	var out []any
	for _, n := range all {
		out = append(out, n)
	}
	return out
}

// TestSeveralVerbsInPart holds that each verb that is held in part counts, and not only the first.
func TestSeveralVerbsInPart(t *testing.T) {
	snapshot := sample(t)
	at(snapshot, "cells", 5, 0).(map[string]any)["s"] = numbers(8, 12)
	page := serve(t, snapshot, "#/fields/apps/Deployment/spec.replicas?ns=shop", nil)
	page.shows(".detail", "serviceaccount ci/robot")
	page.visit("#/fields/apps/Deployment/spec.template.spec.containers[*].image?ns=shop")
	page.shows(".detail", "serviceaccount ci/robot")
	page.visit("#/people/serviceaccount/ci%2Frobot?ns=shop")
	page.shows(".pane", "granular:podTemplateContainerImage(<name>)")
}

// TestTypedSubjects asks for subjects that no binding names. They have the rights of their groups, and an answer for
// one is never that for another.
func TestTypedSubjects(t *testing.T) {
	snapshot := sample(t)
	// Role edit-deployments in shop is bound to all accounts of ci, and the verb for replicas to all users.
	group := map[string]any{"k": "Group", "n": "system:serviceaccounts:ci"}
	snapshot["subjects"] = append(snapshot["subjects"].([]any), group)
	snapshot["bindings"] = append(snapshot["bindings"].([]any), numbers(2, 3, 2, 11), numbers(1, 3, 1, 1))
	page := serve(t, snapshot, "", nil)
	for _, test := range []struct{ hash, want, no string }{
		{"#/people/group/system:unauthenticated?ns=shop", "no right on any kind", "Deployment"},
		{"#/people/user/alice?ns=shop", "◧ some fields", "■"},
		{"#/people/serviceaccount/ci%2Fnew?ns=shop", "■ all fields", "◧ some"},
		{"#/people/user/system:serviceaccount:ci:new?ns=shop", "■ all fields", "◧ some"},
		{"#/people/serviceaccount/shop%2Fnew?ns=shop", "◧ some fields", "■"},
		{"#/people/user/system:anonymous?ns=shop", "no right on any kind", "Deployment"},
		{"#/people/group/new?ns=shop", "◧ some fields", "■"},
	} {
		page.visit(test.hash)
		page.shows(".pane", test.want)
		if got := page.shown(".pane .rows"); strings.Contains(got, test.no) {
			t.Errorf("%s shows %q:\n%s", test.hash, test.no, got)
		}
	}
}
