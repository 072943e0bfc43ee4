// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/pkg/cli/roles"
)

// heldRule is a learned rule of one subject in one namespace, or in all if namespace is "".
type heldRule struct {
	subject, namespace string
	Rule
}

// verbsOf returns the verbs that rules grant for a demand, and so shares no code with package check.
func verbsOf(all []heldRule, d *Demand) []string {
	var out []string
	for _, r := range all {
		if r.subject == d.Subject.Name && (r.namespace == "" || r.namespace == d.Key.Namespace) && r.APIGroups[0] == d.Key.Group && r.Resources[0] == d.Key.Resource &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, d.Name)) {
			out = append(out, r.Verbs...)
		}
	}
	return out
}

// decideAll decides about each request of a log under rules.
func decideAll(t testing.TB, options Options, all []heldRule, log []request) (out []*Verdict) {
	t.Helper()
	options.Each = func(ctx context.Context, d *Demand) {
		v, err := d.Decide(ctx, verbsOf(all, d))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	l := New(newThings(t), options)
	for i, r := range log {
		if err := l.Use(t.Context(), r.line(i)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// confirmRoles is the oracle of Decide, for the log of every test of this package that learns roles: no
// request is refused under the roles that were learned from the log. If one verb is taken away from
// them, at least one request is no longer allowed, and its verdict names the verb. Learned roles have two
// kinds of verbs that are not needed: granular beside update or patch, and verbs of fields beside create,
// if the server wrote them into the event of a create.
func confirmRoles(t testing.TB, options Options, l *Learner, log []request) {
	t.Helper()
	if len(log) > 300 || options.Refused || options.SubjectOf != nil || !options.Since.IsZero() {
		return
	}
	var all []heldRule
	for _, s := range l.Subjects() {
		grants, err := s.Grants(t.Context(), roles.Options{})
		if err != nil {
			return // the test itself expects the error
		}
		for _, g := range grants {
			for _, namespace := range append(slices.Clone(g.Namespaces), make([]string, max(0, 1-len(g.Namespaces)))...) {
				for _, r := range g.Rules {
					all = append(all, heldRule{s.Name, namespace, r})
				}
			}
		}
	}
	whole := decideAll(t, options, all, log)
	for _, v := range whole {
		if v.Outcome == Refused {
			t.Errorf("refused under the learned roles %+v: %+v", all, *v)
		}
	}
	for i, r := range all {
		for j, verb := range r.Verbs {
			if verb == "granular" && (slices.Contains(r.Verbs, "update") || slices.Contains(r.Verbs, "patch")) || createdByFields(log) {
				continue
			}
			less := slices.Clone(all)
			less[i].Verbs = slices.Delete(slices.Clone(r.Verbs), j, j+1)
			named := slices.ContainsFunc(decideAll(t, options, less, log), func(v *Verdict) bool {
				return (v.Outcome == Refused || v.Outcome == Unproven) && slices.ContainsFunc(v.Missing, func(way []string) bool { return slices.Contains(way, verb) })
			})
			if !named {
				t.Errorf("without %s, no verdict names it: %+v", verb, all)
			}
		}
	}
}

// createdByFields reports whether the log has a create that verbs of fields allowed.
func createdByFields(log []request) bool {
	return slices.ContainsFunc(log, func(r request) bool { return r.code == 201 && strings.Contains(r.more, permissionsAnnotation) })
}

// TestDecide holds which verbs would allow which request, each with the neighbour that does not.
func TestDecide(t *testing.T) {
	replicas := request{verb: "patch", name: "a", request: `{"spec":{"replicas":3}}`, response: thing(2, ``, `"replicas":3`)}
	guard := request{verb: "patch", name: "a", request: `{"spec":{"guard":{"mode":"m"}}}`, response: thing(2, ``, `"guard":{"mode":"m"}`)}
	unknown := request{verb: "patch", name: "a"}
	apply := request{verb: "patch", name: "a", uri: "/x?fieldManager=m", request: thing(0, ``, `"replicas":3`), response: thing(1, ``, `"replicas":3`), code: 201}
	post := request{verb: "create", name: "a", request: thing(0, ``, `"replicas":3`), response: thing(1, ``, `"replicas":3`), code: 201}
	ours := func(verbs string) request { return request{verb: "patch", name: "a", more: annotated(verbs)} }
	for _, tc := range []struct {
		name string
		request
		held, want string
	}{
		{"a read", request{verb: "get", name: "a"}, "get", "allowed"},
		{"a read", request{verb: "get", name: "a"}, "list granular", "refused [get]"},
		{"everything", guard, "*", "allowed"},
		{"a field", replicas, "granular granular:replicas", "allowed"},
		{"a field", replicas, "granular granular:specification", "allowed"},
		{"a field", replicas, "granular granular:image", "refused [granular:replicas][granular:specification][patch] .spec.replicas"},
		{"a field", replicas, "granular", "refused [granular:replicas][granular:specification][patch] .spec.replicas"},
		{"a field", replicas, "granular:replicas", "refused [granular][patch]"},
		{"a field", replicas, "get", "refused [patch][granular granular:replicas] .spec.replicas"},
		{"a field", replicas, "update", "refused [patch][granular granular:replicas] .spec.replicas"},
		{"a field", replicas, "patch", "allowed"},
		{"an excluded field", guard, "patch granular:guard", "allowed"},
		{"an excluded field", guard, "patch", "refused [granular:guard] .spec.guard"},
		{"an excluded field", guard, "patch granular:specification", "refused [granular:guard] .spec.guard"},
		{"an excluded field", guard, "granular granular:specification", "refused [granular:guard][patch] .spec.guard"},
		{"no field is known", unknown, "granular granular:replicas", "notProvable [patch]: " + whyFields},
		{"no field is known", unknown, "granular:replicas", "refused [granular][patch]"},
		{"no field is known", unknown, "get", "refused [patch]"},
		// The resource has an excluded field, which patch does not include.
		{"no field is known", unknown, "patch", "notProvable: " + whyFields},
		{"a cut list of verbs", ours("granular:replicas ...+3"), "granular granular:replicas", "notProvable [patch]: " + whyFields},
		{"verbs", ours("granular:replicas"), "granular granular:replicas", "allowed"},
		{"verbs", ours("granular:replicas"), "granular granular:specification", "allowed"},
		{"verbs", ours("granular:replicas"), "granular granular:image", "refused [granular:replicas][patch]"},
		{"verbs", ours("granular:replicas"), "patch", "allowed"},
		{"verbs of an excluded field", ours("granular:guard"), "patch", "refused [granular:guard]"},
		{"verbs of an excluded field", ours("granular:guard"), "patch granular:guard", "allowed"},
		// What was allowed by a general verb may have been any of its fields.
		{"a general verb", ours("granular:specification"), "granular granular:replicas", "notProvable [granular:specification][patch]: " + whyVerbs + "granular:specification"},
		{"a general verb", ours("granular:specification"), "granular granular:labels", "refused [granular:specification][patch]"},
		{"a verb of a key", ours("granular:label(a.example)"), "granular granular:label(b.example)", "refused [granular:label(a.example)][patch]"},
		{"a verb of a key", ours("granular:label(a.example)"), "granular granular:labels", "allowed"},
		{"nothing changed", ours(""), "granular", "allowed"},
		{"nothing changed", ours(""), "granular:replicas", "refused [granular][patch]"},
		{"a create by apply", apply, "create granular", "allowed"},
		{"a create by apply", apply, "create patch", "allowed"},
		{"a create by apply", apply, "create", "refused [patch][granular]"},
		{"a create by apply", apply, "patch", "refused [create][granular granular:metadata granular:replicas] .metadata .spec.replicas"},
		{"a create by apply", apply, "granular granular:metadata granular:specification", "allowed"},
		{"a create by apply", apply, "granular granular:specification", "refused [granular:metadata][patch create] .metadata"},
		{"a create", post, "create", "allowed"},
		{"a create", post, "update patch", "refused [create][granular granular:metadata granular:replicas] .metadata .spec.replicas"},
		{"a create", post, "granular granular:metadata granular:replicas", "allowed"},
		{"a create that failed", request{verb: "create", code: 409}, "create", "allowed"},
		{"a create that failed", request{verb: "create", code: 409}, "get", "refused [create]"},
		{"a create that failed", request{verb: "create", code: 409}, "granular", "notProvable [create]: " + whyFields},
		{"a conflict", request{verb: "update", name: "a", code: 409}, "get", "notJudged"},
		{"without permissions of fields", request{verb: "create", name: "a", resource: "things/exec", code: 101}, "granular", "refused [create]"},
		{"permissions that can't be read", request{verb: "patch", name: "a", resource: "others"}, "patch", "allowed"},
		{"permissions that can't be read", request{verb: "patch", name: "a", resource: "others"}, "get", "refused [patch]"},
		{"permissions that can't be read", request{verb: "patch", name: "a", resource: "others"}, "granular", "notProvable [patch]: " + whyTree},
		{"permissions that can't be read, verbs", request{verb: "patch", name: "a", resource: "others", more: annotated("granular:x")}, "granular granular:x", "allowed"},
		{"permissions that can't be read, verbs", request{verb: "patch", name: "a", resource: "others", more: annotated("granular:x")}, "granular granular:y", "notProvable [patch]: " + whyTree},
	} {
		var got string
		l := New(newThings(t), Options{Each: func(ctx context.Context, d *Demand) {
			v, err := d.Decide(ctx, strings.Fields(tc.held))
			if err != nil {
				t.Fatal(err)
			}
			got = strings.TrimSpace(fmt.Sprint(v.Outcome, " ", strings.ReplaceAll(fmt.Sprint(v.Missing), "] [", "]["), " ", strings.Join(v.Fields, " ")))
			got = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(got, "[[", "["), "]]", "]"), " []", "")
			if v.Why != "" {
				got += ": " + v.Why
			}
		}})
		if err := l.Use(t.Context(), tc.line(1)); err != nil {
			t.Fatal(err)
		}
		if got != tc.want {
			t.Errorf("%s, with %s: %s\nwanted %s", tc.name, tc.held, got, tc.want)
		}
	}
}
