// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// methods maps the verbs that the verb granular can replace to their HTTP methods.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch}

// filters are the two ways to deny write verbs: in the policy of a webhook that is asked about
// everything, or by a match condition of a webhook that denies everything it is asked.
var filters = []struct {
	name   string
	match  []string
	policy string
}{
	{"unfiltered", nil, `{verbs: [create, update, patch, delete, deletecollection], `},
	{"filtered by verb", []string{aboutObjects, writes}, `{`},
}

// denied and free are users that hold every granular verb and no ordinary write verb. A webhook
// in front of RBAC denies all writes of denied.
const (
	denied = "denied"
	free   = "free"
)

// everyField is the policy of a webhook at the end of the chain that allows all granular verbs.
const everyField = `allow: [{users: [denied, free, denied-updater, free-updater], verbs: ["granular*", get, approve, sign]}, {users: [denied-updater, free-updater], verbs: [update, patch]}]`

// TestDenyIsFinalEverywhere checks every path of the server that writes. If a webhook denies
// the verb of the request, the request is refused whatever granular verbs the user holds, and
// the server asks nothing more. For a user that is not denied, the server goes on to ask about
// granular.
//
// Attack: single fields, while a webhook denies create, update and patch
// Answer: 403, the webhook's reason; no permission is asked
func TestDenyIsFinalEverywhere(t *testing.T) {
	custom(t)
	paths := discovered(t)
	for i, f := range filters {
		t.Run(f.name, func(t *testing.T) {
			asked := &asking{}
			no := newHook(t, asked, "no", `deny: [`+f.policy+`users: [denied], reason: no write at all}]`)
			all := newHook(t, asked, "all", everyField)
			use(t, no.in(settings{match: f.match}), node, rbac, all.in(settings{match: []string{aboutObjects}}))
			for _, p := range paths {
				for _, contentType := range contentsOf(p.verb, i == 0) {
					t.Run(p.verb+" "+p.url+" "+contentType, func(t *testing.T) {
						asked.forget()
						a := send(t, denied, methods[p.verb], p.url, contentType, `{}`)
						expect(t, a, 403, "no write at all")
						equal(t, p.url, asked.verbs(denied), []string{"no " + p.verb})
						if i > 0 || contentType != contentsOf(p.verb, false)[0] || strings.Contains(p.url, "/self") {
							return // one twin per path; RBAC allows everybody a review of oneself
						}
						a = send(t, free, methods[p.verb], p.url, contentType, `{}`)
						if strings.Contains(a.Message(), "no write at all") || !slices.Contains(asked.verbs(free), "all granular") {
							t.Errorf("the twin: %s after %q", a, asked.verbs(free))
						}
					})
				}
			}
		})
	}
}

// TestDenyOfCreate checks that a Deny of create is final for a PUT or an apply that would
// create an object. This holds for a user that has only granular verbs, and for one that holds
// update and patch and uses granular only for the implied create.
//
// Attack: a PUT or apply of a missing object, while a webhook denies create
// Answer: 403, the webhook's reason; nothing is created
func TestDenyOfCreate(t *testing.T) {
	custom(t)
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
			for _, tc := range []struct{ kind, who, method string }{
				{"Lease", "", http.MethodPut},
				{"Lease", "", http.MethodPatch},
				{"Lease", "-updater", http.MethodPut},
				{"Lease", "-updater", http.MethodPatch},
				{"ConfigMap", "", http.MethodPatch},
				{"ConfigMap", "-updater", http.MethodPatch},
				{"Deniable", "", http.MethodPatch},
				{"Deniable", "-updater", http.MethodPatch},
			} {
				contentType, query := "json", ""
				if tc.method == http.MethodPatch {
					contentType, query = "apply", "?fieldManager=m"
				}
				t.Run(contentType+" "+tc.kind+" by denied"+tc.who, func(t *testing.T) {
					name := fmt.Sprintf("missing-%d", harness.Unique())
					made := creatable[tc.kind]
					path := made.path + "/" + name
					body := strings.Replace(made.body, "NAME", name, 1)
					asked.forget()
					expect(t, send(t, denied+tc.who, tc.method, path+query, contentType, body), 403, "nothing new")
					got := asked.verbs(denied + tc.who)
					at := slices.Index(got, "no create")
					granular := func(verb string) bool { return strings.Contains(verb, "granular") }
					if at < 0 || slices.Contains(got, "all create") || slices.ContainsFunc(got[max(at, 0):], granular) {
						t.Errorf("asked %q, wanted no granular verb after \"no create\"", got)
					}
					expect(t, send(t, harness.Admin, http.MethodGet, path, "", ""), 404, "")
					asked.forget()
					expect(t, send(t, free+tc.who, tc.method, path+query, contentType, body), 201, "")
					if got := asked.verbs(free + tc.who); !slices.Contains(got, "all create") || !slices.Contains(got, "all granular") {
						t.Errorf("the twin: asked %q", got)
					}
				})
			}
		})
	}
}

// creatable maps kinds to an object that a PUT or an apply can create. Only for leases can a
// PUT create.
var creatable = map[string]struct{ path, body string }{
	"Lease": {"/apis/coordination.k8s.io/v1/namespaces/default/leases",
		`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"NAME"},"spec":{"holderIdentity":"a"}}`},
	"ConfigMap": {"/api/v1/namespaces/default/configmaps",
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"a":"b"}}`},
	"Deniable": {deniables,
		`{"apiVersion":"deny.example.com/v1","kind":"Deniable","metadata":{"name":"NAME"},"spec":{"replicas":1}}`},
}

// contentsOf returns the content types to send for a verb: one, or for patches all of them if
// all is true.
func contentsOf(verb string, all bool) []string {
	switch {
	case verb != "patch":
		return []string{"json"}
	case all:
		return []string{"merge", "strategic", "jsonpatch", "apply"}
	default:
		return []string{"merge"}
	}
}

// way is one way to write: a verb and a path.
type way struct{ verb, url string }

// discovered returns every way to write that discovery lists. The paths name an object that may
// or may not exist.
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
