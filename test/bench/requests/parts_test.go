// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestPartOf holds to whom a sample is charged. Stacks are as perf gives them, innermost first.
func TestPartOf(t *testing.T) {
	const (
		root   = "runtime.goexit"
		filter = "k8s.io/apiserver/pkg/endpoints/filters.withAuthorization.func1"
		union  = "k8s.io/apiserver/pkg/authorization/union.unionAuthzHandler.Authorize"
		rbac   = "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac.(*RBACAuthorizer).Authorize"
		gate   = "kube-granular.dev/pkg/authorizer.(*Gate)."
		policy = "k8s.io/apiserver/pkg/admission/plugin/policy/validating.(*dispatcher).Dispatch"
	)
	known := map[string]marks{}
	for name, tc := range map[string]struct {
		stack []string
		want  part
	}{
		"the ordinary verb, unpatched":      {[]string{rbac, union, filter, root}, partFilter},
		"the ordinary verb, with a Gate":    {[]string{rbac, union, gate + "Authorize", filter, root}, partFilter},
		"a Gate that hands it on":           {[]string{gate + "Authorize", filter, root}, partFilter},
		"the filter itself":                 {[]string{"k8s.io/apiserver/pkg/audit.AddAuditAnnotations", filter, root}, partRest},
		"granular, in the filter":           {[]string{rbac, union, gate + "Fallback", filter, root}, partOurs},
		"granular, asked through the Gate":  {[]string{rbac, union, gate + "Authorize", gate + "Fallback", filter, root}, partOurs},
		"a permission":                      {[]string{rbac, union, "kube-granular.dev/pkg/authorizer.(*write).Verify", "k8s.io/apiserver/pkg/endpoints/handlers.UpdateResource.func1", filter, root}, partOurs},
		"the walk":                          {[]string{"kube-granular.dev/granular/change.(*Walker).Compare", "kube-granular.dev/pkg/authorizer.(*write).Observe", root}, partOurs},
		"a policy that asks":                {[]string{rbac, union, "k8s.io/apiserver/pkg/cel/library.authorizerCheck", policy, root}, partPlugin},
		"a policy that asks through a Gate": {[]string{rbac, union, gate + "Authorize", policy, root}, partPlugin},
		"policies in general":               {[]string{"k8s.io/apiserver/pkg/admission/plugin/policy/generic.(*Plugin[...]).Dispatch", root}, partPlugin},
		"a handler":                         {[]string{"k8s.io/apiserver/pkg/endpoints/handlers.UpdateResource.func1", filter, root}, partRest},
		"a stack being grown":               {[]string{"runtime.copystack", "runtime.newstack", "runtime.morestack", gate + "Fallback"}, partRest},
		"growing seen from its root":        {[]string{"runtime.morestack", gate + "Fallback", root}, partOurs},
		"no stack":                          {nil, partRest},
	} {
		for range 2 { // the second time from memory
			if got := partOf(tc.stack, known); got != tc.want {
				t.Errorf("%s: %s, wanted %s", name, got, tc.want)
			}
		}
	}
}

// sharesOf makes a run of a grant that adds grant and saves saved in the filter, and of a
// policy that adds policy, on machines that are slow in some turns: slow[i] times.
func sharesOf(grant, policy, saved float64, slow ...float64) Run {
	var r Run
	for i, t := range turns {
		spent := map[part]float64{partFilter: 20, partPlugin: 5, partRest: 1000}
		if t.server == gateOn {
			spent[partFilter] -= saved
		}
		switch t.by {
		case byGrant:
			spent[partOurs], spent[partPlugin] = grant, 0
		case byPolicy:
			spent[partPlugin] += policy
		}
		for _, p := range parts {
			r.count("PUT", t.String(), string(p), spent[p]*slow[i%len(slow)])
		}
	}
	return r
}

// TestReportShares holds what becomes of what was recorded: a turn has a clock of its own,
// and what a grant saves in the filter is taken off where the plain request does not save it.
func TestReportShares(t *testing.T) {
	runs := []Run{sharesOf(60, 100, 10, 1), sharesOf(60, 100, 10, 1, 2, 4, 3, 0.5), sharesOf(60, 100, 10, 7, 1)}
	lines := reportShares(runs)
	if len(lines) != 2 {
		t.Fatalf("%d lines: %+v", len(lines), lines)
	}
	for i, want := range []map[string]float64{
		{"policy adds µs": 100, "our code µs": 60, "grant adds µs": 50, "grant : policy": 0.5},
		{"policy adds µs": 100, "our code µs": 60, "grant adds µs": 60, "grant : policy": 0.6},
	} {
		line := lines[i]
		if line.Side != []string{unpatched, gateOn}[i] {
			t.Errorf("line %d is of %s", i, line.Side)
		}
		for name, value := range want {
			at := slices.IndexFunc(line.Figures, func(f Figure) bool { return f.Name == name })
			if at < 0 {
				t.Errorf("%s: no %s in %+v", line.Side, name, line.Figures)
				continue
			}
			f := line.Figures[at]
			// Rounds of three turns are brought to their mean, so times may differ, ratios not.
			if strings.HasSuffix(name, "policy") && (math.Abs(f.Value-value) > 1e-9 || f.High-f.Low > 1e-9) {
				t.Errorf("%s: %s is %+v, wanted %v", line.Side, name, f.Estimate, value)
			}
			if even := reportShares(runs[:1])[i].Figures[at]; math.Abs(even.Value-value) > 1e-9 {
				t.Errorf("%s: %s of one even run is %v, wanted %v", line.Side, name, even.Value, value)
			}
		}
	}
}
