// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/granular/schema/schematest"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/roles"
)

const example = `{"type":"object","properties":{
	"loose":{"type":"string"},
	"metadata":{"type":"object","x-kubernetes-permission-verb":"metadata","properties":{
		"labels":{"type":"object","x-kubernetes-permission-verb":"labels","x-kubernetes-permission-parameter-source":"label-key",
			"additionalProperties":{"type":"string","x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameterized-by":"label-key","x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"}}}},
	"spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
		"other":{"type":"string"},
		"replicas":{"type":"integer","x-kubernetes-permission-verb":"replicas"},
		"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"x-kubernetes-permission-verb":"parts",
			"items":{"type":"object","properties":{"name":{"type":"string"},"image":{"type":"string","x-kubernetes-permission-verb":"image"}}}},
		"guard":{"type":"object","x-kubernetes-permission-verb":"guard","x-kubernetes-permission-excluded":true,"properties":{
			"mode":{"type":"string"}}}}}}}`

// things implements Trees for a server with a single resource, things.
type things struct{ tree *schema.Tree }

func (s things) Tree(of kubeschema.GroupVersionResource, subresource string) (*schema.Tree, error) {
	if of.Resource != "things" {
		return nil, errors.New("not served")
	}
	if subresource != "" && subresource != "status" && subresource != "scale" {
		return nil, nil
	}
	return s.tree, nil
}

func newThings(t testing.TB) things {
	t.Helper()
	return things{schematest.Compile(t, example)}
}

// request is the short form of an audit event in these tests.
type request struct {
	verb, name, request, response string
	more                          string // further fields of the event
	namespace, user               string
	code                          int
	resource, uri                 string
	decision                      string // of the authorizer, if it is not allow; - for none
}

func (r request) line(id int) []byte {
	or := func(text, other string) string {
		if text == "" {
			return other
		}
		return text
	}
	if r.code == 0 {
		r.code = 200
	}
	resource, sub, _ := strings.Cut(or(r.resource, "things"), "/")
	out := fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"id-%d","stage":"ResponseComplete","requestURI":%q,"verb":%q,
		"user":{"username":%q,"groups":["team"]},"objectRef":{"resource":%q,"subresource":%q,"namespace":%q,"name":%q,"apiGroup":"example.com","apiVersion":"v1"},
		"responseStatus":{"code":%d},"requestReceivedTimestamp":"2026-11-23T08:%02d:00Z"`,
		id, or(r.uri, "/x"), r.verb, or(r.user, "jane"), resource, sub, or(r.namespace, "shop"), r.name, r.code, id%60)
	if r.decision != "-" {
		out += fmt.Sprintf(`,"annotations":{"authorization.k8s.io/decision":%q}`, or(r.decision, "allow"))
	}
	for field, object := range map[string]string{"requestObject": r.request, "responseObject": r.response} {
		if object != "" {
			out += fmt.Sprintf(`,%q:%s`, field, object)
		}
	}
	return []byte(strings.Join(strings.Fields(out+r.more+"}"), " "))
}

// thing returns an object with a resource version, labels and a spec.
func thing(version int, labels, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","namespace":"shop","resourceVersion":"%d","labels":{%s}},"spec":{%s}}`, version, labels, spec)
}

func learnAll(t testing.TB, options Options, log ...request) *Learner {
	t.Helper()
	l := New(newThings(t), options)
	for i, r := range log {
		if err := l.Use(t.Context(), r.line(i)); err != nil {
			t.Fatalf("request %d: %v\n%s", i, err, r.line(i))
		}
	}
	confirmRoles(t, options, l, log)
	return l
}

// rulesOf formats the rules of a subject in lines of the form "NAMESPACES RESOURCE NAMES: VERBS".
func rulesOf(t testing.TB, s *Subject, options roles.Options) string {
	t.Helper()
	grants, err := s.Grants(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range grants {
		for _, r := range g.Rules {
			out = append(out, fmt.Sprintf("%s %s %s: %s", g.Where(), r.Resources[0], strings.Join(r.ResourceNames, ","), strings.Join(r.Verbs, " ")))
		}
	}
	return strings.Join(out, "\n")
}

// TestLearn holds which rules are learned from which requests.
func TestLearn(t *testing.T) {
	get := request{verb: "get", name: "a",
		response: thing(1, `"x":"y"`, `"replicas":1,"other":"o","parts":[{"name":"p","image":"i"},{"name":"q","image":"i"}]`)}
	base := func(v int, replicas, image string) string {
		return thing(v, `"x":"y"`, `"replicas":`+replicas+`,"other":"o","parts":[{"name":"p","image":"`+image+`"},{"name":"q","image":"i"}]`)
	}
	const seen = "shop things a: get granular "
	for name, tc := range map[string]struct {
		log  []request
		want string
	}{
		"a replacement": {[]request{get, {verb: "update", name: "a", request: base(1, "3", "i"), response: base(2, "3", "i")}},
			seen + "granular:replicas"},
		"what the server adds is nobody's": {[]request{get, {verb: "update", name: "a", request: base(1, "3", "i"), response: base(2, "3", "added")}},
			seen + "granular:replicas"},
		"from another version": {[]request{get, {verb: "update", name: "a", request: base(7, "3", "i"), response: base(8, "3", "i")}},
			"shop things a: get update"},
		"from an unknown version": {[]request{{verb: "update", name: "a", request: base(1, "3", "i"), response: base(2, "3", "i")}},
			"shop things a: update"},
		"one of two is unknown": {[]request{{verb: "update", name: "a", request: base(1, "3", "i"), response: base(2, "3", "i")},
			{verb: "update", name: "a", request: base(2, "4", "i"), response: base(3, "4", "i")}}, "shop things a: granular granular:replicas"},
		"listed before": {[]request{{verb: "list", response: `{"items":[` + base(1, "1", "i") + `]}`}, {verb: "update", name: "a", request: base(1, "1", "j"), response: base(2, "1", "j")}},
			"shop things : list\nshop things a: granular granular:image"},
		"a merge patch": {[]request{{verb: "patch", name: "a", request: `{"spec":{"replicas":3}}`, response: base(2, "3", "i")}},
			"shop things a: granular granular:replicas"},
		"a patch of what is so already": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"replicas":1}}`, response: base(1, "1", "i")}},
			"shop things a: get granular"},
		"a patch of an element": {[]request{{verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"p","image":"j"}]}}`, response: base(2, "1", "j")}},
			"shop things a: granular granular:image"},
		"a patch of an element, seen before": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"p","image":"j"}],"$setElementOrder/parts":[{"name":"p"}]}}`, response: base(2, "1", "j")}},
			seen + "granular:image"},
		"an element that goes": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"q","$patch":"delete"}]}}`,
			response: thing(2, `"x":"y"`, `"replicas":1,"other":"o","parts":[{"name":"p","image":"i"}]`)}}, seen + "granular:parts"},
		"an element that goes, not seen": {[]request{{verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"q","$patch":"delete"}]}}`,
			response: thing(2, `"x":"y"`, `"replicas":1,"parts":[{"name":"p","image":"i"}]`)}}, "shop things a: granular granular:parts"},
		"a list put in place of another": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"p","image":"i"}]}}`,
			response: thing(2, `"x":"y"`, `"replicas":1,"other":"o","parts":[{"name":"p","image":"i"}]`)}}, seen + "granular:parts"},
		"a label that goes": {[]request{{verb: "patch", name: "a", request: `{"metadata":{"labels":{"team.example/x":null}}}`, response: base(2, "1", "i")}},
			"shop things a: granular granular:label(team.example)"},
		"a JSON patch": {[]request{{verb: "patch", name: "a", request: `[{"op":"test","path":"/spec/other","value":"o"},{"op":"replace","path":"/spec/parts/0/image","value":"j"}]`, response: base(2, "1", "j")}},
			"shop things a: granular granular:image"},
		"a JSON patch of a label": {[]request{{verb: "patch", name: "a", request: `[{"op":"remove","path":"/metadata/labels/team.example~1x"}]`, response: base(2, "1", "j")}},
			"shop things a: granular granular:label(team.example)"},
		"a JSON patch that adds an element": {[]request{{verb: "patch", name: "a", request: `[{"op":"add","path":"/spec/parts/-","value":{"name":"q","image":"i"}}]`, response: base(2, "1", "j")}},
			"shop things a: granular granular:parts"},
		"a JSON patch that moves": {[]request{{verb: "patch", name: "a", request: `[{"op":"move","from":"/metadata/labels/a.example~1x","path":"/spec/other"}]`, response: base(2, "1", "j")}},
			"shop things a: granular granular:label(a.example) granular:specification"},
		"applied": {[]request{{verb: "patch", name: "a", uri: "/x?fieldManager=m&force=true", request: `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":3}}`, response: base(2, "3", "i")}},
			"shop things a: granular granular:replicas"},
		"applied, and something given up": {[]request{get, {verb: "patch", name: "a", uri: "/x?fieldManager=m&force=true", request: `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":3}}`,
			response: thing(2, ``, `"replicas":3,"other":"o","parts":[{"name":"p","image":"i"},{"name":"q","image":"i"}]`)}}, seen + "granular:label(x) granular:replicas"},
		"excluded": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"guard":{"mode":"m"}}}`, response: thing(2, ``, `"guard":{"mode":"m"}`)}},
			seen + "granular:guard"},
		"created": {[]request{{verb: "create", name: "a", request: base(0, "1", "i"), response: base(1, "1", "i"), code: 201}},
			"shop things : create"},
		"created, excluded": {[]request{{verb: "create", name: "a", request: thing(0, ``, `"guard":{"mode":"m"}`), response: thing(1, ``, `"guard":{"mode":"m"}`), code: 201}},
			"shop things : create granular:guard"},
		"created by an update": {[]request{{verb: "update", name: "a", request: thing(0, ``, `"replicas":1`), response: thing(1, ``, `"replicas":1`), code: 201}},
			"shop things a: create granular"},
		"created by an update, excluded": {[]request{{verb: "update", name: "a", request: thing(0, ``, `"guard":{"mode":"m"}`), response: thing(1, ``, `"guard":{"mode":"m"}`), code: 201}},
			"shop things a: create granular granular:guard"},
		"created by an apply, then changed by a patch that the log does not show": {[]request{
			{verb: "patch", name: "a", request: base(0, "1", "i"), response: base(1, "1", "i"), code: 201}, {verb: "patch", name: "a"}},
			"shop things a: create granular patch"},
		"created by an apply, Metadata": {[]request{{verb: "patch", name: "a", code: 201}},
			"shop things a: create granular"},
		"created by an apply, Metadata of ours": {[]request{{verb: "patch", name: "a", code: 201, more: annotated(`granular:metadata granular:replicas`)}},
			"shop things a: create granular granular:metadata granular:replicas"},
		"created by an apply, an answer that hides the object": {[]request{{verb: "patch", name: "a", request: thing(0, ``, `"guard":{"mode":"m"}`), response: thing(1, ``, ``), code: 201, more: annotated(`granular:guard`)}},
			"shop things a: create granular granular:guard"},
		"a change back to what the log shows": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"replicas":1}}`,
			response: strings.Replace(base(3, "1", "i"), `"name":"a"`, `"name":"a","creationTimestamp":"2026-11-23T08:00:00Z"`, 1), more: annotated(`granular:replicas`)}},
			seen + "granular:replicas"},
		"created by an apply, of a resource that is not served": {[]request{{verb: "patch", name: "a", resource: "others", code: 201}},
			"shop others a: create patch"},
		"what a subresource creates is no object": {[]request{{verb: "update", name: "a", resource: "things/token", code: 201}},
			"shop things/token a: update"},
		"a list and a watch of one name": {[]request{{verb: "list", name: "a"}, {verb: "watch", name: "a"}},
			"shop things a: list watch"},
		"what no permission covers": {[]request{{verb: "patch", name: "a", request: `{"loose":"x"}`, response: `{"loose":"x","metadata":{"name":"a"}}`}},
			"shop things a: patch"},
		"Metadata of ours": {[]request{{verb: "patch", name: "a", more: annotated(`granular:label(team.example) granular:replicas`)}},
			"shop things a: granular granular:label(team.example) granular:replicas"},
		"Metadata of ours, a list that was cut": {[]request{{verb: "patch", name: "a", more: annotated(`granular:replicas ...+3`)}},
			"shop things a: patch"},
		"Metadata of ours, nothing changed": {[]request{{verb: "patch", name: "a", more: annotated(``)}},
			"shop things a: granular"},
		"an answer that hides the object": {[]request{get, {verb: "patch", name: "a", request: `{"spec":{"replicas":3}}`, response: thing(2, ``, `"replicas":0`), more: annotated(`granular:replicas`)},
			{verb: "update", name: "a", request: base(1, "4", "i"), response: base(3, "4", "i")}}, seen + "granular:replicas"},
		"a scale that the object outlived": {[]request{scale(1), {verb: "update", name: "a", request: base(0, "2", "i"), response: base(2, "2", "i")}, scale(1)},
			"shop things a: update\nshop things/scale a: granular granular:replicas"},
		"Metadata of another server": {[]request{{verb: "patch", name: "a"}},
			"shop things a: patch"},
		"Metadata, an excluded field by an ordinary verb": {[]request{{verb: "update", name: "a", more: `,"annotations":{"granular.authorization.kube-granular.dev/permissions":"granular:guard"}`}},
			"shop things a: update granular:guard"},
		"reads": {[]request{get, {verb: "list"}, {verb: "watch"}, {verb: "get", name: "b"}},
			"shop things : list watch\nshop things a,b: get"},
		"not found": {[]request{{verb: "get", name: "a", code: 404}, {verb: "delete", name: "c", code: 404}, {verb: "patch", name: "c", code: 404}},
			"shop things a: get"},
		"refused": {[]request{{verb: "get", name: "a", code: 403}, {verb: "get", name: "b"}},
			"shop things b: get"},
		"a conflict": {[]request{get, {verb: "update", name: "a", code: 409, request: base(1, "9", "j")}},
			"shop things a: get"},
		"what is no field": {[]request{{verb: "create", name: "a", resource: "things/exec", code: 101}},
			"shop things/exec a: create"},
		"of a resource that is not served": {[]request{{verb: "patch", name: "a", resource: "others"}},
			"shop others a: patch"},
		"the API server itself": {[]request{{verb: "get", name: "a", user: "system:apiserver"}}, ""},
		"in two namespaces alike": {[]request{{verb: "get", name: "a"}, {verb: "get", name: "a", namespace: "other"}},
			"other,shop things a: get"},
		"in two namespaces differently": {[]request{{verb: "get", name: "a"}, {verb: "list", namespace: "other"}},
			"other things : list\nshop things a: get"},
	} {
		l := learnAll(t, Options{}, tc.log...)
		got := ""
		if s := l.Subjects(); len(s) == 1 {
			got = rulesOf(t, s[0], roles.Options{})
		}
		if got != tc.want {
			t.Errorf("%s:\n%s\nwanted\n%s", name, got, tc.want)
		}
	}
}

// scale returns a patch of the subresource scale, whose objects have a kind of their own.
func scale(replicas int) request {
	return request{verb: "patch", name: "a", resource: "things/scale", request: fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas),
		response: fmt.Sprintf(`{"kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":%d}}`, replicas)}
}

func annotated(verbs string) string {
	return `,"annotations":{"granular.authorization.kube-granular.dev/marked":"true","granular.authorization.kube-granular.dev/permissions":"` + verbs + `"}`
}

// TestLearnSubjects holds to which subjects requests are attributed: with impersonation, the
// request to the impersonated user, and the verb impersonate to the caller.
func TestLearnSubjects(t *testing.T) {
	as := `,"impersonatedUser":{"username":%q,"groups":["ops","system:authenticated"]}`
	log := []request{
		{verb: "get", name: "a"},
		{verb: "get", name: "b", user: "root", more: fmt.Sprintf(as, "jane")},
		{verb: "get", name: "c", user: "root", more: fmt.Sprintf(as, "system:serviceaccount:ci:bot")},
	}
	names := func(l *Learner) string {
		var out []string
		for _, s := range l.Subjects() {
			out = append(out, s.String())
		}
		return strings.Join(out, " ")
	}
	all := learnAll(t, Options{}, log...)
	if got := names(all); got != "serviceaccount:ci/bot user:jane user:root" {
		t.Error(got)
	}
	want := "all namespaces groups ops: impersonate\nall namespaces users jane: impersonate\nci serviceaccounts bot: impersonate"
	if got := rulesOf(t, all.Subjects()[2], roles.Options{}); got != want {
		t.Errorf("%s\nwanted\n%s", got, want)
	}
	team := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "ops"}
	ofOps := learnAll(t, Options{SubjectOf: func(_ string, groups []string) (rbacv1.Subject, bool) {
		return team, slices.Contains(groups, "ops")
	}}, log...)
	if got := names(ofOps); got != "group:ops" {
		t.Fatal(got)
	}
	if got := rulesOf(t, ofOps.Subjects()[0], roles.Options{}); got != "shop things b,c: get" {
		t.Error(got)
	}
}

// TestLearnBounds holds that rules that exceed a limit are widened and not dropped.
func TestLearnBounds(t *testing.T) {
	var names, namespaces, labels, named, mixed []request
	for i := range 500 {
		key := fmt.Sprintf("k%d.example/x", i)
		names = append(names, request{verb: "get", name: fmt.Sprintf("a%d", i)})
		namespaces = append(namespaces, request{verb: "get", name: "a", namespace: fmt.Sprintf("n%d", i)})
		labels = append(labels, request{verb: "patch", name: "a", request: fmt.Sprintf(`{"metadata":{"labels":{%q:"v"}}}`, key), response: thing(i, fmt.Sprintf(`%q:"v"`, key), ``)})
		named = append(named, request{verb: "patch", name: "a", more: annotated("granular:label(" + key + ")")})
		mixed = append(mixed, request{verb: "patch", name: fmt.Sprintf("a%d", i), namespace: fmt.Sprintf("n%d", i%50), request: `{"spec":{"replicas":2}}`, response: thing(i, ``, `"replicas":2`)})
	}
	for name, tc := range map[string]struct {
		log  []request
		want string
	}{
		"names":      {names, "shop things : get"},
		"namespaces": {namespaces, "all namespaces things : get"},
		"labels":     {labels, "shop things a: granular granular:labels"},
		"mixed":      {mixed, "all namespaces things : granular granular:replicas"},
	} {
		if got := rulesOf(t, learnAll(t, Options{}, tc.log...).Subjects()[0], roles.Options{}); got != tc.want {
			t.Errorf("%s: %s, wanted %s", name, got, tc.want)
		}
	}
	got := rulesOf(t, learnAll(t, Options{}, named...).Subjects()[0], roles.Options{})
	if !strings.Contains(got, " granular:label ") && !strings.HasSuffix(got, " granular:labels") || len(strings.Fields(got)) > 70 {
		t.Errorf("of 500 labels in annotations came %s", got)
	}
}

// TestStore holds that the object cache evicts the least recently used objects, and does not store
// an object that is too large.
func TestStore(t *testing.T) {
	s := newObjectCache(32)
	at := func(name string) object { return object{name: name} }
	for _, name := range []string{"a", "b", "c"} {
		s.put(at(name), []byte("xx"))
	}
	s.get(at("a"))
	for i := range 15 {
		s.put(at(fmt.Sprint(i)), []byte("xx"))
	}
	if s.get(at("a")) == nil || s.get(at("b")) != nil || s.get(at("c")) != nil || s.size > 32 || len(s.entries) != s.order.Len() {
		t.Errorf("%d bytes, %d objects", s.size, s.order.Len())
	}
	s.put(at("large"), []byte("xxx"))
	if s.get(at("large")) != nil {
		t.Error("an object that is too large was kept")
	}
}

// TestUnused holds which verbs and resources of a rule are reported as unused.
func TestUnused(t *testing.T) {
	s := learnAll(t, Options{},
		request{verb: "get", name: "a"},
		request{verb: "patch", name: "a", request: `{"spec":{"replicas":3}}`, response: thing(2, ``, `"replicas":3`)},
	).Subjects()[0]
	rule := func(verbs, resources string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Verbs: strings.Fields(verbs),
			Resources: strings.Fields(resources), ResourceNames: names}
	}
	for _, tc := range []struct {
		rule             rbacv1.PolicyRule
		namespace        string
		verbs, resources string
	}{
		{rule("get patch", "things"), "", "", ""},
		{rule("get patch", "things"), "shop", "", ""},
		{rule("get patch", "things"), "other", "get patch", "things"},
		{rule("get update delete", "things others"), "", "update delete", "others"},
		{rule("granular granular:replicas granular:labels", "things"), "", "granular:labels", ""},
		{rule("granular granular:specification", "things", "a"), "", "", ""},
		{rule("granular", "things", "b"), "", "granular", "things"},
		{rule("*", "*"), "", "", ""},
		{rule("get", "*/status"), "", "get", "*/status"},
		{rbacv1.PolicyRule{APIGroups: []string{""}, Verbs: []string{"get"}, Resources: []string{"things"}}, "",
			"get", "things"},
	} {
		verbs, resources := s.Unused(t.Context(), tc.rule, tc.namespace)
		if strings.Join(verbs, " ") != tc.verbs || strings.Join(resources, " ") != tc.resources {
			t.Errorf("%v in %q: unused verbs %v, resources %v", tc.rule, tc.namespace, verbs, resources)
		}
	}
}

// TestUnreadable holds that a line that is not an event causes an error without data of the line.
func TestUnreadable(t *testing.T) {
	l := New(newThings(t), Options{})
	for _, line := range []string{"secret", `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","user":{"username":{"secret":1}}}`} {
		if err := l.Use(t.Context(), []byte(line)); !errors.Is(err, auditlog.ErrNotAnEvent) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzUse(f *testing.F) {
	for i, r := range []request{
		{verb: "get", name: "a", response: thing(1, `"x":"y"`, `"replicas":1`)},
		{verb: "patch", name: "a", request: `{"spec":{"parts":[{"name":"p","$patch":"delete"}]}}`,
			response: thing(2, ``, `"parts":[{"name":"q"}]`)},
		{verb: "patch", name: "a", request: `[{"op":"move","from":"/spec/parts/0","path":"/spec/parts/-"}]`,
			response: thing(2, ``, `"parts":[{"name":"q"}]`)},
		{verb: "update", name: "a", request: thing(1, ``, ``), response: thing(2, ``, ``)},
	} {
		f.Add(r.line(i))
	}
	trees := newThings(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		l := New(trees, Options{})
		// The second use of the line finds the object of the first in the cache.
		for range 2 {
			if l.Use(t.Context(), line) != nil {
				return
			}
		}
		for _, s := range l.Subjects() {
			if _, err := s.Grants(t.Context(), roles.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWatchesCountOnce checks that a watch counts as one request, whether the log has the event of
// its start, that of its end, or both.
func TestWatchesCountOnce(t *testing.T) {
	l := New(newThings(t), Options{})
	use := func(id int, stage string) {
		t.Helper()
		line := bytes.Replace(request{verb: "watch"}.line(id), []byte("ResponseComplete"), []byte(stage), 1)
		if err := l.Use(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	use(1, "ResponseStarted")
	use(2, "ResponseComplete")
	use(3, "ResponseStarted")
	use(3, "ResponseComplete")
	if l.Events != 3 || l.Learned != 3 {
		t.Errorf("%d events and %d learned, want 3", l.Events, l.Learned)
	}
	if len(l.watches) != 1 {
		t.Errorf("%d watches count as open, want 1", len(l.watches))
	}
}
