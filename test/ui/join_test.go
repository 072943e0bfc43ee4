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

// TestProtectedKeys holds who may change a protected label. A ClusterProtectedAttribute admits only by a
// ClusterRoleBinding of its role, nobody is a subject of a role that does not exist, and some need nothing.
func TestProtectedKeys(t *testing.T) {
	const held, part, not, unknown = "✓ held", "◇ held for some", "✕ not held", "? not known"
	for _, test := range []struct {
		name, subject, want string
		// space and state are the namespace of the attribute and the state of its role, and bound is the
		// namespace of a binding of the role to devs, or none.
		space, bound float64
		state        string
	}{
		{"of the cluster, bound there", "group/devs", held, -1, -1, ""},
		{"of the cluster, bound in the namespace", "group/devs", not, -1, 3, ""},
		{"of the namespace, bound there", "group/devs", held, 3, 3, ""},
		{"of the namespace, bound in the cluster", "group/devs", held, 3, -1, ""},
		{"of the namespace, bound in another", "group/devs", not, 3, 1, ""},
		{"a missing role", "group/devs", not, 3, 3, "missing"},
		{"a role that can't be read", "group/devs", unknown, 3, 3, "unknown"},
		{"nobody is bound", "group/devs", not, 3, -2, ""},
		{"masters", "group/system:masters", held, 3, -2, ""},
		{"the holder of bypass", "user/ops", held, 3, -2, ""},
	} {
		snapshot := sample(t)
		set(snapshot, "protected", 1, "namespace", test.space)
		role := at(snapshot, "roles", 10).(map[string]any)
		role["r"], role["state"] = 1.0, test.state
		at(snapshot, "rules", 0).(map[string]any)["bypass"] = true
		if test.bound >= -1 {
			snapshot["bindings"] = append(snapshot["bindings"].([]any), numbers(2, test.bound, 10, 4))
		}
		page := serve(t, snapshot, "#/people/"+test.subject+"/apps/Deployment?ns=*", nil)
		t.Log(test.name)
		page.shows(".detail", `ClusterRole "keepers" `+test.want)
	}
	// A verb for some objects opens a key for some.
	snapshot := sample(t)
	set(snapshot, "cells", 7, 0, "n", []any{"web"})
	page := serve(t, snapshot, "#/people/user/jane/apps/Deployment?ns=shop", nil)
	page.shows(".detail", "granular:protectedLabel(example.com/tier) "+part)
}

// set sets what at returns for all but the last of values, which is the new one.
func set(snapshot map[string]any, values ...any) {
	path := values[:len(values)-2]
	at(snapshot, path...).(map[string]any)[values[len(values)-2].(string)] = values[len(values)-1]
}

// TestNamesOfPrototypes holds that names which every object of JavaScript has are names like others.
func TestNamesOfPrototypes(t *testing.T) {
	for _, name := range []string{"constructor", "__proto__", "toString"} {
		snapshot := sample(t)
		set(snapshot, "subjects", 3, "k", name)
		set(snapshot, "kinds", 2, "through", map[string]any{"status": numbers(2)})
		set(snapshot, "fields", 14, "n", name)
		root := at(snapshot, "fields", int(at(snapshot, "kinds", 2, "root").(float64))).(map[string]any)
		root["f"] = append(root["f"].([]any), 14.0)
		page := serve(t, snapshot, "#/"+name, nil)
		page.shows("#tabs [aria-current]", "Fields")
		page.visit("#/fields/apps/Deployment/" + name + "?ns=shop")
		page.shows(".detail h2", "."+name)
		page.visit("#/people/" + name + "/oncall?ns=shop")
		page.shows(".pane h2", name+" oncall")
		page.shows(".pane .row", "Deployment")
	}
}

// TestUnknownProtection holds that labels are not shown as free if nobody knows which are protected.
func TestUnknownProtection(t *testing.T) {
	snapshot := sample(t)
	snapshot["unknown"] = []any{map[string]any{"what": "protectedattributes", "except": []any{"shop"}, "why": "forbidden"}}
	page := serve(t, snapshot, "#/fields/apps/Deployment/metadata.labels[*]?ns=ci", nil)
	const dark = "? protectedattributes can't be read except in shop: forbidden"
	page.shows(".detail", dark)
	page.visit("#/people/group/devs/apps/Deployment?ns=ci")
	page.shows(".detail", dark)
	for _, hash := range []string{"#/people/group/devs/apps/Deployment?ns=shop", "#/fields/apps/Deployment/spec.replicas?ns=ci"} {
		page.visit(hash)
		page.until("!document.querySelector('.detail').innerText.includes(" + quote(dark) + ")")
	}
}

// TestGrantOfFile holds that a page without a server writes no more than what is picked: names keep their case, and
// a field is granted through one resource.
func TestGrantOfFile(t *testing.T) {
	page := file(t, sample(t), "#/fields?ns=shop&grant=1&who=user;jane&names=Web&picks=apps%252FDeployment;.spec.replicas")
	page.shows("dialog[open] pre", `resourceNames: ["Web"]`)
	page.shows("dialog[open] pre", `resources: ["deployments"]`)
	if got := page.shown("dialog[open] pre"); strings.Contains(got, "deployments/scale") {
		t.Errorf("the role has two resources for one field:\n%s", got)
	}
}

// TestMatrixAddsUpAsFields holds that a cell of the matrix says no more than its fields: what is held on different
// parts, or in different namespaces, does not add up.
func TestMatrixAddsUpAsFields(t *testing.T) {
	for name, test := range map[string]struct {
		ns    string
		cells [2]any
		at    [2]float64
		want  string
	}{
		"one part":             {"shop", [2]any{granularOn(0), verbOn(0)}, [2]float64{3, 3}, "◧ some fields"},
		"two parts":            {"shop", [2]any{granularOn(0), verbOn(1)}, [2]float64{3, 3}, "· none"},
		"the cluster, and one": {"*", [2]any{granularOn(0), verbOn(0)}, [2]float64{-1, 3}, "◧ some fields"},
		"two namespaces":       {"*", [2]any{granularOn(0), verbOn(0)}, [2]float64{1, 3}, "· none"},
	} {
		snapshot := sample(t)
		snapshot["unknown"], snapshot["bindings"] = []any{}, []any{}
		for i, cell := range test.cells {
			cells, rules, roles := snapshot["cells"].([]any), snapshot["rules"].([]any), snapshot["roles"].([]any)
			snapshot["bindings"] = append(snapshot["bindings"].([]any), numbers(2, test.at[i], float64(len(roles)), 4))
			snapshot["roles"] = append(roles, map[string]any{"s": -1.0, "n": "r", "r": float64(len(rules))})
			rule := map[string]any{"rules": []any{map[string]any{"verbs": []any{"x"}}}, "cells": numbers(2, float64(len(cells)))}
			snapshot["rules"], snapshot["cells"] = append(rules, rule), append(cells, []any{cell})
		}
		page := serve(t, snapshot, "#/people/group/devs/apps/Deployment?ns="+test.ns, nil)
		t.Log(name)
		page.shows(".detail", test.want)
	}
}

func granularOn(part float64) any { return map[string]any{"p": part, "g": 2, "r": numbers(0)} }

func verbOn(part float64) any { return map[string]any{"p": part, "v": numbers(8), "r": numbers(0)} }

// TestUnreadRole holds that no field has 0 holders, and nobody is said to be none, where a bound role can't be read.
func TestUnreadRole(t *testing.T) {
	snapshot := sample(t)
	snapshot["bindings"] = []any{at(snapshot, "bindings", 9)}
	page := serve(t, snapshot, "#/fields/core/Secret/data?ns=ci", nil)
	page.shows(".pane .row small", "?")
	page.shows(".detail", "? nobody that is known")
	page.visit("#/fields/core/Secret/data?ns=shop")
	page.shows(".pane .row small", "0")
	page.shows(".detail", "nobody by a binding")
}

// TestMetadataReaders holds that a subject's page names the resources that it reads without data, as text.
func TestMetadataReaders(t *testing.T) {
	const says = "reads metadata, without data, of "
	snapshot := sample(t)
	at(snapshot, "rules", 0).(map[string]any)["metadata"] = []any{"secrets", "<b>.example.com"}
	page := serve(t, snapshot, "#/people/user/ops?ns=*", nil)
	page.shows(".pane", says+"secrets, <b>.example.com")
	if got := serve(t, sample(t), "#/people/user/ops?ns=*", nil).shown(".pane"); strings.Contains(got, says) {
		t.Errorf("without the verb: %s", got)
	}
}
