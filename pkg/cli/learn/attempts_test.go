// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"fmt"
	"strings"
	"testing"

	"kube-granular.dev/pkg/cli/roles"
)

// refusedField returns the rest of an event whose request was allowed, and then refused for a field.
func refusedField(marked bool, missing string) string {
	out := `,"annotations":{"authorization.k8s.io/decision":"allow"`
	if marked {
		out += `,"granular.authorization.kube-granular.dev/marked":"true"`
	}
	return out + fmt.Sprintf(`,"granular.authorization.kube-granular.dev/missing":%q}`, missing)
}

// TestLearnRefused holds what is learned of refused requests, and that nothing of them is learned without
// the option.
//
// Attack: a caller without any rights sends requests that authorization did not refuse, or that ask for everything; a role is learned from the audit log with the refused requests
// Answer: only what the authorizer refused is learned, for the object of the request, without wildcards
func TestLearnRefused(t *testing.T) {
	refused := func(verb, name string) request { return request{verb: verb, name: name, code: 403, decision: "forbid"} }
	field := func(verb string, marked bool, missing string) request {
		return request{verb: verb, name: "a", code: 403, more: refusedField(marked, missing)}
	}
	const selected = `,"annotations":{"authorization.k8s.io/decision":"forbid","authority.kube-granular.dev/selected":"{\"authorityReference\":{\"kind\":\"ClusterRole\",\"name\":\"d\"}}"}`
	for name, tc := range map[string]struct {
		log  []request
		want string
	}{
		"a read":            {[]request{refused("get", "a")}, "shop things a: get"},
		"reads of all":      {[]request{refused("list", ""), refused("watch", "")}, "shop things : list watch"},
		"a create":          {[]request{refused("create", "a")}, "shop things : create"},
		"a change":          {[]request{refused("patch", "a")}, "shop things a: patch"},
		"a field":           {[]request{field("patch", true, "granular:replicas granular:specification")}, "shop things a: granular granular:replicas"},
		"a value":           {[]request{field("patch", true, "granular:from(a)&granular:from(c) granular:specification")}, "shop things a: granular granular:from(a) granular:from(c)"},
		"an excluded field": {[]request{field("update", false, "granular:guard")}, "shop things a: granular:guard update"},
		"an excluded field of a new object": {[]request{{verb: "create", name: "a", code: 403, more: refusedField(false, "granular:guard")}},
			"shop things : create granular:guard"},
		"twice":                    {[]request{refused("get", "a"), refused("get", "a")}, "shop things a: get"},
		"later allowed":            {[]request{refused("get", "a"), {verb: "get", name: "a"}}, "shop things a: get"},
		"of another object":        {[]request{refused("get", "a"), {verb: "get", name: "b"}}, "shop things b: get\nshop things a: get"},
		"in a namespace":           {[]request{refused("get", "a"), {verb: "get", name: "a", namespace: "other"}}, "other things a: get\nshop things a: get"},
		"a change, later by field": {[]request{refused("patch", "a"), {verb: "patch", name: "a", more: annotated("granular:replicas")}}, "shop things a: granular granular:replicas"},
		"a field, later allowed": {[]request{field("patch", true, "granular:replicas"), {verb: "patch", name: "a", more: annotated("granular:replicas")}},
			"shop things a: granular granular:replicas"},
		"forbidden by admission":               {[]request{{verb: "create", code: 403, decision: "allow"}}, ""},
		"before authorization":                 {[]request{{verb: "get", name: "a", code: 403, decision: "-"}}, ""},
		"not authenticated":                    {[]request{{verb: "get", name: "a", code: 401, decision: "-"}}, ""},
		"too many requests":                    {[]request{{verb: "get", name: "a", code: 429, decision: "-"}}, ""},
		"an authorizer failed":                 {[]request{{verb: "get", name: "a", code: 500, decision: "-"}}, ""},
		"another status, forbidden":            {[]request{{verb: "get", name: "a", code: 429, decision: "forbid"}}, ""},
		"with a selected role":                 {[]request{{verb: "get", name: "a", code: 403, more: selected}}, ""},
		"no verb of a request":                 {[]request{refused("escalate", "a"), refused("impersonate", "a"), refused("granular", "a"), refused("", "a")}, ""},
		"everything":                           {[]request{{verb: "get", resource: "*", code: 403, decision: "forbid"}, {verb: "*", code: 403, decision: "forbid"}, {verb: "get", resource: "*/scale", code: 403, decision: "forbid"}}, ""},
		"what is no permission":                {[]request{field("patch", true, "*"), field("patch", true, "delete"), field("patch", true, "granular"), field("patch", true, "granular:*"), field("patch", true, "...+3")}, ""},
		"a protected label":                    {[]request{field("patch", true, "granular:protectedLabel(env) ClusterRole/x"), field("patch", true, "ClusterRole/x")}, ""},
		"what a definition excludes":           {[]request{field("update", false, "granular:permissionExclusion")}, ""},
		"one of two that are needed is no use": {[]request{field("patch", true, "granular:from(a)&granular:protectedLabel(b)")}, ""},
	} {
		l := learnAll(t, Options{Refused: true}, tc.log...)
		if got := rulesOfUser(t, l, "user:jane"); got != tc.want && tc.want+got != "none" {
			t.Errorf("%s:\n%s\nwanted\n%s", name, got, tc.want)
		}
		for _, s := range learnAll(t, Options{}, tc.log...).Subjects() {
			grants, err := s.Grants(t.Context(), roles.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range grants {
				for _, r := range g.Rules {
					if r.Attempted {
						t.Errorf("%s: without the option, %v is learned", name, r.PolicyRule)
					}
				}
			}
		}
	}
}

// TestLearnRefusedNotes holds that a rule for refused requests is marked, and that its notes say what the
// log does not prove.
func TestLearnRefusedNotes(t *testing.T) {
	l := learnAll(t, Options{Refused: true}, request{verb: "patch", name: "a", code: 403, decision: "forbid"},
		request{verb: "patch", name: "b", code: 403, more: refusedField(true, "granular:replicas")}, request{verb: "get", name: "a"})
	s := l.Subjects()[0]
	grants, err := s.Grants(t.Context(), roles.Options{})
	if err != nil || s.Refused != 2 || s.Attempted != 2 {
		t.Fatal(err, s.Refused, s.Attempted)
	}
	notes := map[bool]string{}
	for _, r := range grants[0].Rules {
		notes[r.Attempted] += strings.Join(r.Notes, "\n") + "\n"
	}
	for _, want := range []string{
		"patch on things.example.com a in shop: refused: 1 request, 2026-11-23T08:00:00Z, id-0; which fields it would have changed is not known, so this allows all fields",
		"granular:replicas on things.example.com b in shop: refused: 1 request, 2026-11-23T08:01:00Z, id-1; a refusal names one field",
	} {
		if !strings.Contains(notes[true], want) {
			t.Errorf("%q is not in\n%s", want, notes[true])
		}
	}
	if strings.Contains(notes[false], "refused") {
		t.Errorf("a rule of an allowed request says\n%s", notes[false])
	}
}

// TestLearnRefusedIsBounded holds that refused requests, however many there are, never give a rule for all
// names or all namespaces, and that those that were allowed change nothing about it.
//
// Attack: a caller asks for many names, namespaces and fields, so that the role that is learned from refused requests is for all of them
// Answer: above a limit they are left out and counted
func TestLearnRefusedIsBounded(t *testing.T) {
	var log []request
	for i := range MaxAttempts + 50 {
		log = append(log, request{verb: "get", name: fmt.Sprint("a", i), namespace: fmt.Sprint("n", i), code: 403, decision: "forbid"},
			request{verb: "delete", name: fmt.Sprint("b", i), namespace: fmt.Sprint("m", i)})
	}
	for i := range maxNamed + 50 {
		log = append(log, request{verb: "patch", name: "a0", namespace: "n0", code: 403, more: refusedField(true, fmt.Sprintf("granular:label(k%d)", i))})
	}
	s := learnAll(t, Options{Refused: true}, log...).Subjects()[0]
	grants, err := s.Grants(t.Context(), roles.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, verbs := 0, 0
	for _, g := range grants {
		for _, r := range g.Rules {
			if !r.Attempted {
				continue
			}
			objects++
			verbs = max(verbs, len(r.Verbs))
			if len(r.ResourceNames) != 1 || len(g.Namespaces) != 1 {
				t.Errorf("%s: %v", g.Where(), r.PolicyRule)
			}
		}
	}
	if objects != MaxAttempts || verbs > maxNamed || s.NotAttempted < 100 || !s.Everywhere {
		t.Errorf("%d objects, %d verbs of one, %d left out, everywhere %t", objects, verbs, s.NotAttempted, s.Everywhere)
	}
}

// TestRehearsalsAreNoUse holds that dry runs of the plugin do not count as use, and other dry runs do.
func TestRehearsalsAreNoUse(t *testing.T) {
	const review = `,"objectRef":{"resource":"selfsubjectaccessreviews","name":"a","apiGroup":"authorization.k8s.io","apiVersion":"v1"}`
	const plugin, kubectl = `,"userAgent":"kubectl-granular/v1.37.1 (linux/amd64) kubernetes/abc"`, `,"userAgent":"kubectl/v1.37.1 (linux/amd64)"`
	for name, tc := range map[string]struct {
		of   request
		want string
		runs int
	}{
		"of the plugin":            {request{uri: "/x?dryRun=All", more: plugin}, "", 1},
		"of the plugin, refused":   {request{uri: "/x?dryRun=All", more: plugin, code: 403, decision: "forbid"}, "", 1},
		"of the plugin, for jane":  {request{uri: "/x?dryRun=All", user: "root", more: plugin + `,"impersonatedUser":{"username":"jane"}`}, "", 1},
		"a review of the plugin":   {request{more: plugin + review}, "", 1},
		"a review of kubectl":      {request{more: kubectl + review}, "shop selfsubjectaccessreviews a: patch", 0},
		"of kubectl":               {request{uri: "/x?dryRun=All", more: kubectl}, "shop things a: patch", 0},
		"of nobody":                {request{uri: "/x?dryRun=All"}, "shop things a: patch", 0},
		"a write of the plugin":    {request{uri: "/x?fieldManager=kubectl-granular", more: plugin}, "shop things a: patch", 0},
		"a name that is like ours": {request{uri: "/x?dryRun=All", more: `,"userAgent":"kubectl-granularity/1"`}, "shop things a: patch", 0},
	} {
		tc.of.verb, tc.of.name = "patch", "a"
		l := learnAll(t, Options{Refused: true}, tc.of)
		runs := 0
		for _, s := range l.Subjects() {
			runs += s.Rehearsed
		}
		if got := rulesOfUser(t, l, "user:jane"); got != tc.want || runs != tc.runs || l.Events != 1 || (l.Writes > 0) != (tc.want != "") {
			t.Errorf("%s: %q, %d dry runs, %d events, %d writes", name, got, runs, l.Events, l.Writes)
		}
		if got := rulesOfUser(t, l, "user:root"); got != "none" {
			t.Errorf("%s: root got %q", name, got)
		}
	}
}

// TestPathsAreCounted holds that requests without a resource are counted, with bounded examples.
func TestPathsAreCounted(t *testing.T) {
	const none = `,"objectRef":null`
	log := []request{{verb: "get", uri: "/version?timeout=32s", more: none}, {verb: "get", uri: "/version", more: none}, {verb: "get", uri: "/" + strings.Repeat("é", 200), more: none},
		{verb: "get", uri: "/metrics", more: none}, {verb: "get", uri: "/logs", more: none}, {verb: "get", uri: "/logs", code: 403, decision: "forbid", more: none},
		{verb: "get", uri: "/logs", code: 429, decision: "-", more: none}, {verb: "get", uri: "/a", user: "eve", more: none}, {verb: "get", name: "a"}}
	l := learnAll(t, Options{Refused: true}, log...)
	var jane *Subject
	for _, s := range l.Subjects() {
		if s.String() == "user:jane" {
			jane = s
		}
	}
	want := "5 requests without a resource, such as /version, /" + strings.Repeat("é", 29) + "..., /metrics"
	if jane == nil || jane.Paths.String() != want || l.Paths.Requests != 6 || l.Learned != 1 {
		t.Errorf("%v, wanted %q, all: %v, learned %d", jane.Paths.String(), want, l.Paths, l.Learned)
	}
	if got := rulesOf(t, jane, roles.Options{}); got != "shop things a: get" {
		t.Error(got)
	}
}

// TestEventsWithoutTime holds that an event without a time of receipt prints no time.
func TestEventsWithoutTime(t *testing.T) {
	untimed := `,"requestReceivedTimestamp":"0001-01-01T00:00:00Z"`
	for name, tc := range map[string]struct {
		log  []request
		want string
	}{
		"one":          {[]request{{verb: "get", name: "a", more: untimed}}, "1 request, id-0"},
		"two":          {[]request{{verb: "get", name: "a", more: untimed}, {verb: "get", name: "a", more: untimed}}, "2 requests, id-0 id-1"},
		"one of two":   {[]request{{verb: "get", name: "a", more: untimed}, {verb: "get", name: "a"}}, "2 requests, 2026-11-23T08:01:00Z to 2026-11-23T08:01:00Z, id-0 id-1"},
		"one of three": {[]request{{verb: "get", name: "a"}, {verb: "get", name: "a", more: untimed}, {verb: "get", name: "a"}}, "3 requests, 2026-11-23T08:00:00Z to 2026-11-23T08:02:00Z, id-0 id-1 id-2"},
	} {
		grants, err := learnAll(t, Options{}, tc.log...).Subjects()[0].Grants(t.Context(), roles.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := grants[0].Rules[0].Notes[0]; got != "get on things.example.com a in shop: "+tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	var both Use
	both.join(&Use{Requests: 1, AuditIDs: []string{"a"}})
	both.join(&Use{Requests: 2, AuditIDs: []string{"b"}})
	if got := both.String(); got != "3 requests, the first a b" {
		t.Error(got)
	}
}
