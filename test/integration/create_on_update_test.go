// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// TestCreateOnUpdate checks a PUT or an apply of an object that does not exist. The caller
// needs the verb of the request and create. The verb granular can replace either. If it replaces
// create, the caller needs permissions for all fields. The test sends every combination of grants,
// as a dry run and for real.
func TestCreateOnUpdate(t *testing.T) {
	s := onStage(t)
	fields := []string{"granular:metadata", "granular:specification"}
	ways := []struct{ name, verb, method, query, contentType string }{
		{"PUT", "update", http.MethodPut, "?", harness.ContentTypes["json"]},
		{"apply", "patch", http.MethodPatch, "?fieldManager=m&force=true&", harness.ContentTypes["apply"]},
	}
	for _, way := range ways {
		for combination := range 32 {
			holds := func(bit int) bool { return combination&(1<<bit) != 0 }
			verb, create, granular := holds(0), holds(1), holds(2)
			var grants []string
			for bit, grant := range []string{way.verb, "create", "granular", fields[0], fields[1]} {
				if holds(bit) {
					grants = append(grants, grant)
				}
			}
			covered := holds(3) && holds(4)
			allowed := (verb || granular) && (create || granular && covered)
			t.Run(fmt.Sprintf("%s %s", way.name, strings.Join(grants, " ")), func(t *testing.T) {
				name := fmt.Sprintf("created-%d", harness.Unique())
				path := "/apis/coordination.k8s.io/v1/namespaces/default/leases/" + name
				body := `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"` + name + `"},"spec":{"holderIdentity":"me"}}`
				s.Callers.AddCaller(name, grants...)
				for _, dryRun := range []string{"dryRun=All", ""} {
					a := s.Send(t, name, way.method, path+way.query+dryRun, way.contentType, body)
					if allowed != (a.Code == http.StatusCreated) || !allowed && a.Code != http.StatusForbidden {
						t.Errorf("%s: %s", dryRun, a)
					}
					now := s.Send(t, "", http.MethodGet, path, "", nil)
					if there := now.Code == http.StatusOK; there != (allowed && dryRun == "") {
						t.Errorf("%q: it is there: %t", dryRun, there)
					}
				}
			})
		}
	}
}

// TestCreateIsAskedOnce checks a PUT or an apply of a missing object that somebody else creates and deletes meanwhile. So the
// storage attempts the create twice. As upstream, the server asks once whether the caller may create the object, and what the caller
// may change is verified at each attempt: a webhook adds fields to the object of the last one.
//
// Attack: a create by PUT or apply, whose last attempt stores other fields than the first one, for which the caller was authorized
// Answer: 403: each attempt is verified
func TestCreateIsAskedOnce(t *testing.T) {
	s := onStage(t)
	const prefix = "retried-"
	webhook := harness.NewMutatingWebhook(t, s, prefix)
	limits := map[string]any{"limits": []any{map[string]any{"type": "Pod", "max": map[string]any{"cpu": "1"}}}}
	ways := []struct{ name, verb, method, query, contentType string }{
		{"PUT", "update", http.MethodPut, "", "json"},
		{"apply", "patch", http.MethodPatch, "?fieldManager=m&force=true", "apply"},
	}
	for _, way := range ways {
		for _, tc := range []struct {
			name     string
			verbs    []string
			verb     string // the one by which the caller creates
			code     int
			mentions string
		}{
			{"ordinary", []string{way.verb, "create"}, "create", http.StatusCreated, ""},
			{"granular and create", []string{"granular", "granular:metadata", "create"}, "create", http.StatusCreated, ""},
			{"create by fields", []string{way.verb, "granular", "granular:metadata", "granular:specification"}, "granular",
				http.StatusCreated, ""},
			{"create by some fields", []string{way.verb, "granular", "granular:metadata"}, "granular",
				http.StatusForbidden, "cannot change .spec"},
			{"no create", []string{way.verb}, "", http.StatusForbidden, "cannot create resource"},
		} {
			t.Run(way.name+" "+tc.name, func(t *testing.T) {
				name := fmt.Sprintf("%s%d", prefix, harness.Unique())
				const collection = "/api/v1/namespaces/default/limitranges"
				body := harness.FromYAML(t, "{apiVersion: v1, kind: LimitRange, metadata: {name: "+name+"}}")
				labeled := harness.FromYAML(t, "{apiVersion: v1, kind: LimitRange, metadata: {name: "+name+", labels: {a: b}}}")
				caller, attempts := s.Callers.AddCaller(name, append(tc.verbs, "get")...), 0
				t.Cleanup(func() { s.Send(t, harness.Admin, http.MethodDelete, collection+"/"+name, "", "") }) // it limits other tests
				webhook.SetPatchFunc(name, func(map[string]any) corpus.Object {
					attempts++
					switch attempts {
					case 1: // of a create
						s.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], body)
					case 2: // of an update
						s.MustSend(t, http.MethodDelete, collection+"/"+name, "", nil)
					case 3:
						return corpus.Object{"spec": limits}
					}
					return nil
				})
				a := s.Send(t, name, way.method, collection+"/"+name+way.query, harness.ContentTypes[way.contentType], labeled)
				if a.Code != tc.code || !strings.Contains(a.Message(), tc.mentions) {
					t.Errorf("after %d attempts: %s", attempts, a)
				}
				asked := map[string]int{}
				for _, verb := range caller.Verbs() {
					asked[verb]++
				}
				if tc.verb == "" {
					if attempts != 1 || asked["create"] != 1 {
						t.Errorf("%d attempts, asked for %v", attempts, asked)
					}
					return
				}
				if attempts != 3 || asked["create"] != 1 || asked[tc.verb] == 0 || asked["granular"] > 1 {
					t.Errorf("%d attempts, asked for %v", attempts, asked)
				}
			})
		}
	}
}

// TestPatchOfNothing checks that patches other than apply do not create a missing object.
func TestPatchOfNothing(t *testing.T) {
	s := onStage(t)
	s.Callers.AddCaller("patcher", "granular", "granular:metadata", "granular:specification", "get")
	for _, way := range []string{"merge", "strategic", "jsonpatch"} {
		body := `{"spec":{"holderIdentity":"me"}}`
		if way == "jsonpatch" {
			body = `[{"op":"add","path":"/spec/holderIdentity","value":"me"}]`
		}
		a := s.Send(t, "patcher", http.MethodPatch, "/apis/coordination.k8s.io/v1/namespaces/default/leases/missing", harness.ContentTypes[way], body)
		if a.Code != http.StatusNotFound {
			t.Errorf("%s: %s", way, a)
		}
	}
}

// TestGenerateName checks that a granular caller needs granular:metadata for generateName, as
// for a name.
func TestGenerateName(t *testing.T) {
	s := onStage(t)
	const path = "/api/v1/namespaces/default/configmaps"
	a := s.Twins(t, path, "cannot change .metadata.generateName", []string{"granular:metadata", "granular", "granular:labels", "granular:data", "get"}, func(user string) harness.Answer {
		return s.Send(t, user, http.MethodPost, path, harness.ContentTypes["json"], `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"gen-","labels":{"a":"b"}}}`)
	})
	if name, _ := a.Object(t)["metadata"].(map[string]any)["name"].(string); !strings.HasPrefix(name, "gen-") || name == "gen-" {
		t.Errorf("the name is %q", name)
	}
}

// TestDryRun checks that a dry run needs the same permission as the real request, and that an
// allowed dry run stores nothing.
func TestDryRun(t *testing.T) {
	s := onStage(t)
	path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: dry}, data: {a: "1"}}`)
	before := s.MustSend(t, http.MethodGet, path, "", nil)
	name := live["metadata"].(map[string]any)["name"].(string)
	put := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"a":"b"}},"data":{"a":"1"}}`, name)
	for _, tc := range []struct{ name, method, contentType, body string }{
		{"PUT", http.MethodPut, "json", put},
		{"merge", http.MethodPatch, "merge", `{"metadata":{"labels":{"a":"b"}}}`},
		{"strategic", http.MethodPatch, "strategic", `{"metadata":{"labels":{"a":"b"}}}`},
		{"json patch", http.MethodPatch, "jsonpatch", `[{"op":"add","path":"/metadata/labels","value":{"a":"b"}}]`},
		{"apply", http.MethodPatch, "apply",
			fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"a":"b"}}}`, name)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.Twins(t, path, "cannot change .metadata.labels[a]", []string{"granular:label(a)", "granular"}, func(user string) harness.Answer {
				return s.Send(t, user, tc.method, path+"?dryRun=All&fieldManager=dry", harness.ContentTypes[tc.contentType], tc.body)
			})
			if after := s.MustSend(t, http.MethodGet, path, "", nil); after.String() != before.String() {
				t.Errorf("a dry run stored %s", after)
			}
		})
	}
}
