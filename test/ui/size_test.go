// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// large is a snapshot of a cluster with 300 kinds, 1,000 subjects and 50,000 bindings of 2,000 roles.
func large(t *testing.T) map[string]any {
	t.Helper()
	const kindCount, subjectCount, bindingCount, roleCount, spaceCount = 300, 1000, 50_000, 2000, 500
	r := rand.New(rand.NewPCG(1, 2))
	out := sample(t)
	type list = []any
	type object = map[string]any
	ints := func(n ...int) list {
		var all list
		for _, i := range n {
			all = append(all, i)
		}
		return all
	}
	var spaces, kinds, subjects, rules, cells, roles, names, bindings list
	for i := range spaceCount {
		spaces = append(spaces, fmt.Sprintf("team-%03d", i))
	}
	root := out["kinds"].(list)[2].(object)["root"] // a deployment's
	for i := range kindCount {
		kinds = append(kinds, object{
			"group": fmt.Sprintf("group%02d.example.com", i%40), "version": "v1", "kind": fmt.Sprintf("Kind%03d", i),
			"resource": fmt.Sprintf("kind%03ds", i), "namespaced": i%5 != 0, "rank": i % 4,
			"root": root, "parts": list{object{}, object{"name": "status"}}, "through": object{"status": ints(1)},
		})
	}
	words := []string{"Group", "User", "ServiceAccount"}
	for i := range subjectCount {
		s := object{"k": words[i%3], "n": fmt.Sprintf("subject-%04d", i), "g": ints(0)}
		if i == 0 {
			s = object{"k": "Group", "n": "system:authenticated"}
		}
		if s["k"] == "ServiceAccount" {
			s["s"] = spaces[i%spaceCount]
		}
		subjects = append(subjects, s)
	}
	cells = list{
		list{object{"u": 2, "g": 2, "a": 2, "r": ints(0)}}, list{object{"u": 2, "r": ints(0)}}, list{object{"g": 2, "v": ints(8), "r": ints(0)}},
		list{object{"u": 1, "n": list{"a"}, "r": ints(0)}}, list{object{"g": 2, "s": ints(2), "r": ints(0)}},
	}
	for i := range roleCount {
		var pairs list
		// One role in a hundred is as wide as edit.
		width := 1 + r.IntN(6)
		if i%100 == 0 {
			width = kindCount
		}
		for n := range width {
			pairs = append(pairs, (i*7+n)%kindCount, r.IntN(len(cells)))
		}
		rule := object{"verbs": list{"update"}, "apiGroups": list{"apps"}, "resources": list{fmt.Sprintf("r%d", i)}}
		rules = append(rules, object{"rules": list{rule}, "cells": pairs})
		roles = append(roles, object{"s": -1, "n": fmt.Sprintf("role-%d", i), "r": i})
	}
	for i := range bindingCount {
		names = append(names, fmt.Sprintf("binding-%d", i))
		bindings = append(bindings, ints(i, r.IntN(spaceCount+1)-1, r.IntN(roleCount), 1+r.IntN(subjectCount-1)))
	}
	about := out["about"].(object)
	about["namespace"], about["masters"], about["authenticated"], about["accounts"] = "team-001", -1, 0, -1
	for key, value := range map[string]list{
		"unknown": {}, "namespaces": spaces, "kinds": kinds, "subjects": subjects, "rules": rules, "cells": cells, "roles": roles,
		"names": names, "bindings": bindings, "delegations": {}, "protected": {}, "denials": {},
	} {
		out[key] = value
	}
	return out
}

// TestLarge draws a large snapshot, and logs how long that takes; it asserts only what is drawn.
func TestLarge(t *testing.T) {
	snapshot := large(t)
	text, _ := json.Marshal(snapshot)
	page := file(t, snapshot, "#/fields")
	page.until("performance.getEntriesByName('first').length > 0")
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("a snapshot of %d bytes; load of the machine %s", len(text), strings.TrimSpace(string(load)))
	t.Logf("data to first view: %.0f ms", eval[float64](page, "performance.getEntriesByName('first')[0].duration"))
	// took is the median time from a change of the address to a drawn page, with layout.
	took := func(what string, hashes ...string) {
		t.Helper()
		list, _ := json.Marshal(hashes)
		all := eval[[]float64](page, fmt.Sprintf(`(async () => {
			const all = [], hashes = %s;
			for (let n = 0; n < 5; n++) for (const h of hashes) {
				const start = performance.now();
				history.pushState(null, "", h);
				dispatchEvent(new HashChangeEvent("hashchange"));
				document.body.getBoundingClientRect();
				all.push(performance.now() - start);
				await new Promise(done => requestAnimationFrame(done));
			}
			return [all[0], all.slice(1).sort((a, b) => a - b)[(all.length - 1) >> 1], Math.max(...all.slice(1))];
		})()`, list))
		t.Logf("%-40s first %6.1f ms, median %6.1f ms, worst later %6.1f ms", what, all[0], all[1], all[2])
	}
	took("filter of kinds", "#/fields?q=k", "#/fields?q=kind1", "#/fields?q=kind12", "#/fields")
	took("a kind", "#/fields/group01.example.com/Kind001", "#/fields/group02.example.com/Kind002")
	took("a field", "#/fields/group01.example.com/Kind001/spec.replicas", "#/fields/group01.example.com/Kind001/spec.template")
	took("a field, all namespaces", "#/fields/group01.example.com/Kind001/spec.replicas?ns=*",
		"#/fields/group01.example.com/Kind001/spec?ns=*")
	took("filter of fields", "#/fields/group01.example.com/Kind001?f=i", "#/fields/group01.example.com/Kind001?f=image")
	took("matrix", "#/people")
	took("matrix, all namespaces", "#/people?ns=*")
	took("filter of the matrix by people", "#/people?ns=*&q=s", "#/people?ns=*&q=subject-09", "#/people?ns=*&q=group", "#/people?ns=*")
	took("filter of the matrix by kinds", "#/people?ns=*&k=k", "#/people?ns=*&k=kind1", "#/people?ns=*")
	took("a subject", "#/people/user/subject-0001", "#/people/user/subject-0004")
	took("a right, all namespaces", "#/people/user/subject-0001/group01.example.com/Kind001?ns=*",
		"#/people/user/subject-0004/group01.example.com/Kind001?ns=*")
	page.visit("#/people?ns=*")
	page.until("document.querySelectorAll('.matrix .box').length > 50")
	if n := eval[int](page, "document.querySelectorAll('.matrix .box').length"); n > 3000 {
		t.Errorf("%d cells are drawn, but only those in view should be", n)
	}
	page.keys("/")
	search := func(text string) float64 {
		return eval[float64](page, fmt.Sprintf(`(() => {
			const i = document.getElementById("search"), start = performance.now();
			i.value = %q;
			i.dispatchEvent(new Event("input"));
			document.body.getBoundingClientRect();
			return performance.now() - start;
		})()`, text))
	}
	t.Logf("search: first %.1f ms, then %.1f, %.1f ms", search("rep"), search("replicas"), search("kind123 replicas"))
	page.until("document.querySelectorAll('.hits .row').length > 0")
}
