// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"strings"
	"testing"
)

// TestPartOf checks to which part a sample belongs. Stacks are in the order of perf: the innermost
// function first.
func TestPartOf(t *testing.T) {
	const (
		root   = "runtime.goexit"
		filter = "k8s.io/apiserver/pkg/endpoints/filters.withAuthorization.func1"
		union  = "k8s.io/apiserver/pkg/authorization/union.unionAuthzHandler.Authorize"
		rbac   = "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac.(*RBACAuthorizer).Authorize"
		gate   = "kube-granular.dev/pkg/gate.(*Gate)."
		policy = "k8s.io/apiserver/pkg/admission/plugin/policy/validating.(*dispatcher).Dispatch"
	)
	known := map[string]marks{}
	for name, tc := range map[string]struct {
		stack []string
		want  part
	}{
		"the ordinary verb, unpatched":   {[]string{rbac, union, filter, root}, partFilter},
		"the ordinary verb, with a Gate": {[]string{rbac, union, gate + "Authorize", filter, root}, partFilter},
		"a Gate that hands it on":        {[]string{gate + "Authorize", filter, root}, partFilter},
		"the filter itself": {[]string{"k8s.io/apiserver/pkg/audit.AddAuditAnnotations", filter, root},
			partRest},
		"granular, in the filter": {[]string{rbac, union, gate + "Fallback", filter, root}, partOurs},
		"granular, asked through the Gate": {[]string{rbac, union, gate + "Authorize", gate + "Fallback", filter, root},
			partOurs},
		"a permission": {[]string{rbac, union, "kube-granular.dev/pkg/gate.(*write).Verify", "k8s.io/apiserver/pkg/endpoints/handlers.UpdateResource.func1", filter, root},
			partOurs},
		"the walk": {[]string{"kube-granular.dev/granular/change.(*Walker).Compare", "kube-granular.dev/pkg/gate.(*write).Observe", root},
			partOurs},
		"a policy that asks": {[]string{rbac, union, "k8s.io/apiserver/pkg/cel/library.authorizerCheck", policy, root},
			partPlugin},
		"a policy that asks through a Gate": {[]string{rbac, union, gate + "Authorize", policy, root}, partPlugin},
		"policies in general": {[]string{"k8s.io/apiserver/pkg/admission/plugin/policy/generic.(*Plugin[...]).Dispatch", root},
			partPlugin},
		"a handler": {[]string{"k8s.io/apiserver/pkg/endpoints/handlers.UpdateResource.func1", filter, root},
			partRest},
		"a stack being grown": {[]string{"runtime.copystack", "runtime.newstack", "runtime.morestack", gate + "Fallback"},
			partRest},
		"growing seen from its root": {[]string{"runtime.morestack", gate + "Fallback", root}, partOurs},
		"no stack":                   {nil, partRest},
	} {
		for range 2 { // the second time from the cache
			if got := partOf(tc.stack, known); got != tc.want {
				t.Errorf("%s: %s, wanted %s", name, got, tc.want)
			}
		}
	}
}

// sharesOf returns a run in which a grant adds the time grant and saves the time saved in the
// filter, and a policy adds the time policy. In turn i, the machine is slower by the factor slow[i].
func sharesOf(grant, policy, saved float64, slow ...float64) Run {
	var r Run
	for i, t := range turnsOf("notes") {
		spent := map[part]float64{partFilter: 20, partPlugin: 5, partRest: 1000}
		if t.server == gateOn {
			spent[partFilter] -= saved
		}
		switch t.by {
		case byGrant:
			spent[partOurs], spent[partPlugin] = grant, 0
		case byExcluded:
			spent[partOurs] = grant / 2
		case byPolicy:
			spent[partPlugin] += policy
		}
		for _, p := range parts {
			r.count("PUT", t.String(), string(p), spent[p]*slow[i%len(slow)])
		}
	}
	return r
}

// TestReportShares checks the report of recorded runs: times are scaled by the speed of the machine
// in their turn, and the time that a grant saves in the filter is deducted if the compared server
// does not save it too.
func TestReportShares(t *testing.T) {
	runs := []Run{sharesOf(60, 100, 10, 1), sharesOf(60, 100, 10, 1, 2, 4, 3, 0.5), sharesOf(60, 100, 10, 7, 1)}
	lines := reportShares(runs)
	want := []struct {
		side    string
		figures map[string]float64
	}{
		{"grant, to a policy on unpatched",
			map[string]float64{"our code µs": 60, "adds CPU µs": 50, "a policy µs": 100, "of the policy's": 0.5}},
		{"grant, to a policy on gate-on",
			map[string]float64{"our code µs": 60, "adds CPU µs": 60, "a policy µs": 100, "of the policy's": 0.6}},
		{"excluded, to a policy on unpatched",
			map[string]float64{"our code µs": 30, "adds CPU µs": 20, "a policy µs": 100, "of the policy's": 0.2}},
		{"excluded, to a policy on gate-on",
			map[string]float64{"our code µs": 30, "adds CPU µs": 30, "a policy µs": 100, "of the policy's": 0.3}},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %+v", len(lines), lines)
	}
	even := reportShares(runs[:1])
	for i, w := range want {
		if lines[i].Side != w.side || len(lines[i].Figures) != len(w.figures) {
			t.Errorf("line %d is %+v", i, lines[i])
		}
		for j, f := range lines[i].Figures {
			value, known := w.figures[f.Name]
			if got := even[i].Figures[j]; !known || math.Abs(got.Value-value) > 1e-9 || !got.Exact {
				t.Errorf("%s: %s of one even run is %+v, wanted %v", w.side, f.Name, got, value)
			}
			// The three turns that are compared are scaled to their mean, so times may differ between
			// runs, but ratios must not.
			if f.Name == "of the policy's" && (math.Abs(f.Value-value) > 1e-9 || f.High-f.Low > 1e-9) {
				t.Errorf("%s: %s is %+v, wanted %v", w.side, f.Name, f.Estimate, value)
			}
		}
	}
}

// TestReportSharesOfParts checks that the report leaves out a run without all compared turns.
func TestReportSharesOfParts(t *testing.T) {
	r := sharesOf(60, 100, 10, 1)
	for i := range r.Counts {
		if r.Counts[i].Side == (turn{unpatched, byNothing}).String() {
			r.Counts[i].Value = 0
		}
	}
	for _, line := range reportShares([]Run{r}) {
		if strings.HasSuffix(line.Side, unpatched) {
			t.Errorf("%+v", line)
		}
	}
}
