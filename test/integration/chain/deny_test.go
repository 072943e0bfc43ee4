// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// methods are those of the verbs that a granular caller may be let through for.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch}

// filters are the two ways to write a rule that denies writes: in the policy of a webhook that
// is asked everything, and as a match condition of one that denies whatever it is asked.
var filters = []struct {
	name   string
	match  []string
	policy string
}{
	{"unfiltered", nil, `{verbs: [create, update, patch, delete, deletecollection], `},
	{"filtered by verb", []string{aboutObjects, writes}, `{`},
}

// denied and free hold every permission verb and no other; denied may not write at all.
const (
	denied = "denied"
	free   = "free"
)

// everyField is the policy of a webhook at the end of the chain, which allows whatever is
// granular.
const everyField = `allow: [{users: [denied, free, denied-updater, free-updater], verbs: ["granular*", get]}, {users: [denied-updater, free-updater], verbs: [update, patch]}]`

// TestDenyIsFinalEverywhere holds that who is denied the verb of a request is refused down each
// path that the server has, whatever it holds of single fields, and that nothing else is
// asked. Who is not denied is asked about further.
//
// Attack: single fields, where a webhook denies create, update and patch
// Answer: 403, the webhook's reason; no permission is asked
func TestDenyIsFinalEverywhere(t *testing.T) {
	paths := discovered(t)
	for i, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			asked := &asking{}
			no := newHook(t, asked, "no", `deny: [`+f.policy+`users: [denied], reason: no write at all}]`)
			all := newHook(t, asked, "all", everyField)
			use(t, no.in(settings{match: f.match}), node, rbac, all.in(settings{match: []string{aboutObjects}}))
			for _, p := range paths {
				asked.forget()
				a := send(t, denied, methods[p.verb], p.url, contentOf(p.verb), `{}`)
				if a.Code != 403 || !strings.Contains(a.Message(), "no write at all") {
					t.Errorf("%s %s: %s", p.verb, p.url, a)
				}
				equal(t, p.url, asked.verbs(denied), []string{"no " + p.verb})
			}
			if i > 0 {
				return // the twins are the same
			}
			for _, p := range paths {
				if strings.Contains(p.url, "/self") {
					continue // RBAC allows everybody to ask about oneself
				}
				asked.forget()
				a := send(t, free, methods[p.verb], p.url, contentOf(p.verb), `{}`)
				if strings.Contains(a.Message(), "no write at all") || !slices.Contains(asked.verbs(free), "all granular") {
					t.Errorf("%s %s: %s after %q", p.verb, p.url, a, asked.verbs(free))
				}
			}
		})
	}
}

// TestDenyIsFinalForObjects holds the same where there is an object, and that it is left as it
// was: the twin's request changes it.
func TestDenyIsFinalForObjects(t *testing.T) {
	config := made(t, "default")
	const apps, core = "/apis/apps/v1/namespaces/default/", "/api/v1/namespaces/default/"
	must(t, http.MethodPost, core+"serviceaccounts", "json", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
	must(t, http.MethodPost, core+"pods", "json", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"denied"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"a","image":"a","resources":{"requests":{"cpu":"1"}}}]}}`)
	cases := []struct{ verb, url, contentType, body string }{
		{"create", core + "configmaps", "json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made-VALUE"}}`},
		{"update", config, "json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + config[strings.LastIndex(config, "/")+1:] + `"},"data":{"a":"VALUE"}}`},
		{"patch", config, "merge", `{"data":{"merge":"VALUE"}}`},
		{"patch", config, "strategic", `{"data":{"strategic":"VALUE"}}`},
		{"patch", config, "jsonpatch", `[{"op":"add","path":"/metadata/labels","value":{"json":"VALUE"}}]`},
		{"patch", config + "?fieldManager=m&force=true", "apply", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"` + config[strings.LastIndex(config, "/")+1:] + `"},"data":{"apply":"VALUE"}}`},
		{"patch", apps + "deployments/web/scale", "merge", `{"spec":{"replicas":NUMBER}}`},
		{"patch", apps + "deployments/web/status", "merge", `{"status":{"conditions":[{"type":"VALUE","status":"True"}]}}`},
		{"patch", core + "pods/denied/status", "merge", `{"status":{"message":"VALUE"}}`},
		{"patch", core + "pods/denied/ephemeralcontainers", "strategic", `{"spec":{"ephemeralContainers":[{"name":"e-NUMBER","image":"i"}]}}`},
		{"patch", core + "pods/denied/resize", "strategic", `{"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"NUMBERm"}}}]}}`},
	}
	for _, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			asked := &asking{}
			no := newHook(t, asked, "no", `deny: [`+f.policy+`users: [denied], reason: no write at all}]`)
			all := newHook(t, asked, "all", everyField)
			use(t, no.in(settings{match: f.match}), node, rbac, all.in(settings{match: []string{aboutObjects}}))
			for _, tc := range cases {
				n := harness.Unique()
				body := strings.NewReplacer("VALUE", fmt.Sprintf("v%d", n), "NUMBER", fmt.Sprint(10+n%1000)).Replace(tc.body)
				path, _, _ := strings.Cut(tc.url, "?")
				before := must(t, http.MethodGet, path, "", "").Object(t)
				asked.forget()
				expect(t, send(t, denied, methods[tc.verb], tc.url, tc.contentType, body), 403, "no write at all")
				equal(t, tc.verb+" "+path, asked.verbs(denied), []string{"no " + tc.verb})
				if after := must(t, http.MethodGet, path, "", "").Object(t); !sameVersion(before, after, tc.verb) {
					t.Errorf("%s %s: it was refused and stored: %v", tc.verb, path, after)
				}
				if a := send(t, free, methods[tc.verb], tc.url, tc.contentType, body); a.Code >= 300 {
					t.Errorf("%s %s: the twin: %s", tc.verb, path, a)
				}
			}
		})
	}
}

// sameVersion reports whether nothing was stored between two looks at an object, or added to a
// collection.
func sameVersion(before, after map[string]any, verb string) bool {
	if verb == "create" {
		count := func(list map[string]any) int { items, _ := list["items"].([]any); return len(items) }
		return count(before) == count(after)
	}
	return reflect.DeepEqual(harness.At(before, "metadata", "resourceVersion"), harness.At(after, "metadata", "resourceVersion"))
}

// TestDenyOfCreate holds that a Deny of create alone is final for a PUT and an apply that
// create: of who is granular all along, and of who holds update and is granular only for the
// create that it implies.
//
// Attack: a PUT or apply of a missing object, where a webhook denies create
// Answer: 403, the webhook's reason; nothing is created
func TestDenyOfCreate(t *testing.T) {
	for _, f := range []struct {
		name   string
		match  []string
		policy string
	}{
		{"unfiltered", nil, `{verbs: [create], `},
		{"filtered by verb", []string{aboutObjects, "request.resourceAttributes.verb == 'create'"}, `{`},
	} {
		t.Run(f.name, func(t *testing.T) {
			asked := &asking{}
			no := newHook(t, asked, "no", `deny: [`+f.policy+`users: [denied, denied-updater], reason: nothing new}]`)
			all := newHook(t, asked, "all", everyField)
			use(t, no.in(settings{match: f.match}), node, rbac, all.in(settings{match: []string{aboutObjects}}))
			for _, tc := range []struct {
				who, contentType, query string
				method, verb            string
			}{
				{"", "json", "", http.MethodPut, "update"},
				{"", "apply", "?fieldManager=m", http.MethodPatch, "patch"},
				{"-updater", "json", "", http.MethodPut, "update"},
				{"-updater", "apply", "?fieldManager=m", http.MethodPatch, "patch"},
			} {
				name := fmt.Sprintf("missing-%d", harness.Unique())
				path := "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + name
				body := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + name + `"},"spec":{"holderIdentity":"a"}}`
				asked.forget()
				expect(t, send(t, denied+tc.who, tc.method, path+tc.query, tc.contentType, body), 403, "nothing new")
				got := asked.verbs(denied + tc.who)
				at := slices.Index(got, "no create")
				if at < 0 || slices.Contains(got, "all create") || slices.ContainsFunc(got[max(at, 0):], func(verb string) bool { return strings.Contains(verb, "granular") }) {
					t.Errorf("%s by %s: asked %q, wanted nothing granular after no create", tc.verb, denied+tc.who, got)
				}
				expect(t, send(t, harness.Admin, http.MethodGet, path, "", ""), 404, "")
				asked.forget()
				expect(t, send(t, free+tc.who, tc.method, path+tc.query, tc.contentType, body), 201, "")
				if got := asked.verbs(free + tc.who); !slices.Contains(got, "all create") || !slices.Contains(got, "all granular") {
					t.Errorf("%s by %s: asked %q", tc.verb, free+tc.who, got)
				}
			}
		})
	}
}

// contentOf is a content type for a verb.
func contentOf(verb string) string {
	if verb == "patch" {
		return "merge"
	}
	return "json"
}

// way is one way to write.
type way struct{ verb, url string }

// discovered lists every way to write that the server says it has, for an object that may
// or may not be there.
func discovered(t *testing.T) []way {
	t.Helper()
	var groups metav1.APIGroupList
	read(t, "/apis", &groups)
	roots := []string{"/api/v1"}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			roots = append(roots, "/apis/"+version.GroupVersion)
		}
	}
	var out []way
	subresources := 0
	for _, root := range roots {
		var list metav1.APIResourceList
		read(t, root, &list)
		for _, r := range list.APIResources {
			resource, subresource, below := strings.Cut(r.Name, "/")
			url := root
			if r.Namespaced {
				url += "/namespaces/default"
			}
			url += "/" + resource
			for _, verb := range r.Verbs {
				if methods[verb] == "" {
					continue
				}
				at := url
				if below || verb != "create" {
					at += "/x"
				}
				if below {
					subresources++
					at += "/" + subresource
				}
				out = append(out, way{verb, at})
			}
		}
	}
	if len(out) < 200 || subresources < 40 {
		t.Fatalf("%d ways to write were discovered, %d of them subresources", len(out), subresources)
	}
	return out
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(must(t, http.MethodGet, path, "", "").Body, into); err != nil {
		t.Fatal(err)
	}
}
