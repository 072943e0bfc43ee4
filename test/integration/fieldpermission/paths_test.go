// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

const (
	argo      = "applications.argoproj.io"
	inDefault = "/apis/argoproj.io/%s/namespaces/default/applications"
	open      = `"project":"p","destination":{"server":"https://a"},"shards":1`
)

func application(version, name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"argoproj.io/%s","kind":"Application","metadata":{"name":%q,"namespace":"default"},"spec":{%s}}`, version, name, spec)
}

// applied returns an application as a tool applies it that owns the destination alone.
func applied(version, name, server string) string {
	return application(version, name, fmt.Sprintf(`"project":"p","destination":{"server":%q}`, server))
}

// way is one way to write .spec.destination, .spec.shards or .status.phase.
type way struct {
	name string
	// missing is set if the object must not exist.
	missing bool
	// verb is the permission that is needed, besides the ordinary verbs.
	verb string
	// send writes as a user. collection and path are those of the version under test.
	send func(t *testing.T, user, version, name, collection, path string) harness.Answer
}

const (
	destinationVerb = "granular:argoproj.io/destination"
	shardsVerb      = "granular:argoproj.io/shards"
	phaseVerb       = "granular:argoproj.io/phase"
)

func patch(contentType, query, body string) func(*testing.T, string, string, string, string, string) harness.Answer {
	return func(t *testing.T, user, _, _, _, path string) harness.Answer {
		t.Helper()
		return server.Send(t, user, http.MethodPatch, path+query, harness.ContentTypes[contentType], body)
	}
}

// replace sends the stored object of a subresource, or of the object itself, with a change.
func replace(subresource string, change func(object map[string]any)) func(*testing.T, string, string, string, string, string) harness.Answer {
	return func(t *testing.T, user, _, _, _, path string) harness.Answer {
		t.Helper()
		object := server.LiveObject(t, path+subresource)
		change(object)
		return server.Send(t, user, http.MethodPut, path+subresource, harness.ContentTypes["json"], object)
	}
}

var ways = []way{
	{"create", true, destinationVerb, func(t *testing.T, user, version, name, collection, _ string) harness.Answer {
		return server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], applied(version, name, "https://a"))
	}},
	{"create by apply", true, destinationVerb, func(t *testing.T, user, version, name, _, path string) harness.Answer {
		return server.Send(t, user, http.MethodPatch, path+"?fieldManager=m", harness.ContentTypes["apply"], applied(version, name, "https://a"))
	}},
	{"update", false, destinationVerb, replace("", func(o map[string]any) { harness.SetAt(o, "https://b", "spec", "destination", "server") })},
	{"update that removes it", false, destinationVerb, replace("", func(o map[string]any) { delete(o["spec"].(map[string]any), "destination") })},
	{"JSON patch", false, destinationVerb, patch("jsonpatch", "", `[{"op":"replace","path":"/spec/destination/server","value":"https://b"}]`)},
	{"JSON patch that removes it", false, destinationVerb, patch("jsonpatch", "", `[{"op":"remove","path":"/spec/destination"}]`)},
	{"JSON patch that moves it", false, destinationVerb, patch("jsonpatch", "", `[{"op":"move","from":"/spec/destination/server","path":"/spec/destination/name"}]`)},
	{"merge patch", false, destinationVerb, patch("merge", "", `{"spec":{"destination":{"namespace":"kube-system"}}}`)},
	{"merge patch that removes it", false, destinationVerb, patch("merge", "", `{"spec":{"destination":null}}`)},
	{"merge patch of the whole spec", false, destinationVerb, patch("merge", "", `{"spec":{"project":"q","destination":{"server":"https://b"}}}`)},
	{"apply with force", false, destinationVerb, func(t *testing.T, user, version, name, _, path string) harness.Answer {
		return server.Send(t, user, http.MethodPatch, path+"?fieldManager=m&force=true", harness.ContentTypes["apply"], applied(version, name, "https://b"))
	}},
	{"apply of an addition", false, destinationVerb, func(t *testing.T, user, version, name, _, path string) harness.Answer {
		return server.Send(t, user, http.MethodPatch, path+"?fieldManager=m", harness.ContentTypes["apply"],
			application(version, name, `"project":"p","destination":{"namespace":"kube-system"}`))
	}},
	{"the field behind scale", false, shardsVerb, patch("merge", "", `{"spec":{"shards":3}}`)},
	{"update of the scale", false, shardsVerb, replace("/scale", func(o map[string]any) { harness.SetAt(o, 3, "spec", "replicas") })},
	{"merge patch of the scale", false, shardsVerb, patch("merge", "/scale", `{"spec":{"replicas":3}}`)},
	{"JSON patch of the scale", false, shardsVerb, patch("jsonpatch", "/scale", `[{"op":"replace","path":"/spec/replicas","value":3}]`)},
	{"update of the status", false, phaseVerb, replace("/status", func(o map[string]any) { harness.SetAt(o, "Ready", "status", "phase") })},
	{"merge patch of the status", false, phaseVerb, patch("merge", "/status", `{"status":{"phase":"Ready"}}`)},
	{"apply of the status", false, phaseVerb, func(t *testing.T, user, version, name, _, path string) harness.Answer {
		body := fmt.Sprintf(`{"apiVersion":"argoproj.io/%s","kind":"Application","metadata":{"name":%q,"namespace":"default"},"status":{"phase":"Ready"}}`, version, name)
		return server.Send(t, user, http.MethodPatch, path+"/status?fieldManager=m&force=true", harness.ContentTypes["apply"], body)
	}},
}

// closeFields puts the entries of the tests in force.
func closeFields(t *testing.T, mode v1alpha1.Mode) harness.Answer {
	t.Helper()
	define(t, server, "applications.yaml")
	return put(t, server, argo, mode, "v1alpha1", excluded(".spec.destination", "argoproj.io/destination"),
		excluded(".spec.shards", "argoproj.io/shards"), excluded(".status.phase", "argoproj.io/phase"),
		named(".spec.syncPolicy", "argoproj.io/syncPolicy"))
}

// TestExclusionHolds holds that holders of the ordinary verbs need the verb of an entry, in each way to write, in
// the version of the paths and in another version, and that with the verb they may. The refusal says if the request
// removes the field.
//
// Attack: writing a closed field by another verb, another kind of patch, another version, a subresource, or a create
// Answer: 403, and the refusal names the FieldPermission
func TestExclusionHolds(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		collection := fmt.Sprintf(inDefault, version)
		for i, w := range ways {
			t.Run(version+"/"+w.name, func(t *testing.T) {
				name := fmt.Sprintf("%s-%d", version, i)
				path := collection + "/" + name
				if !w.missing {
					server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application(version, name, open))
				}
				says := "(excluded by FieldPermission " + argo + ")"
				if strings.HasSuffix(w.name, "removes it") {
					says = "; the request removes it " + says
				}
				a := server.Twins(t, path, says, []string{w.verb, "create", "update", "patch", "get"},
					func(user string) harness.Answer { return w.send(t, user, version, name, collection, path) })
				if a.Code < 300 && len(a.Warnings()) > 0 {
					t.Errorf("warned: %q", a.Warnings())
				}
			})
		}
	}
}

// TestDryRunOfClosedField holds that a dry run is refused as the write itself is.
func TestDryRunOfClosedField(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "dry", open))
	server.Twins(t, collection+"/dry", "(excluded by FieldPermission "+argo+")", []string{destinationVerb, "patch", "get"},
		func(user string) harness.Answer {
			return server.Send(t, user, http.MethodPatch, collection+"/dry?dryRun=All", harness.ContentTypes["merge"], `{"spec":{"destination":{"server":"https://b"}}}`)
		})
}

// TestOtherFields holds that holders of the ordinary verbs need nothing more for what no entry excludes: another
// field, a whole update that leaves the field, a label, a create without the field, and a deletion.
func TestOtherFields(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	user := caller(server, "create", "update", "patch", "get", "delete")
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	path := collection + "/free"
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "free", open))
	object := server.LiveObject(t, path)
	harness.SetAt(object, "q", "spec", "project")
	for _, a := range []harness.Answer{
		server.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], object),
		server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}},"spec":{"syncPolicy":{"automated":{"prune":true}}}}`),
		server.Send(t, user, http.MethodPatch, path+"/status", harness.ContentTypes["merge"], `{"status":{"reconciledAt":"now"}}`),
		server.Send(t, user, http.MethodPatch, path+"?fieldManager=m", harness.ContentTypes["apply"], application("v1alpha1", "free", `"project":"q"`)),
		server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "free2", `"project":"p"`)),
		server.Send(t, user, http.MethodDelete, path, "", nil),
	} {
		if a.Code >= 300 || len(a.Warnings()) > 0 {
			t.Errorf("%s %q", a, a.Warnings())
		}
	}
}

// TestMastersAreNotHeld holds that a member of system:masters needs no verb.
//
// Attack: an exclusion locks out everybody, so that the cluster can't be repaired
// Answer: system:masters is never asked
func TestMastersAreNotHeld(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "masters", open))
	server.MustSend(t, http.MethodPatch, collection+"/masters", harness.ContentTypes["merge"], `{"spec":{"destination":{"server":"https://b"}}}`)
}

// TestControllersBypassEntries holds that a holder of bypass on the FieldPermission needs no verb, and that bypass on another one does
// not help. A caller is asked for it only if it would be refused.
//
// Attack: an exclusion of a field that controllers write for others stops them
// Answer: upstream's controllers hold the verb bypass by a bootstrap role
func TestControllersBypassEntries(t *testing.T) {
	closeFields(t, v1alpha1.ModeEnforce)
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "bypass", open))
	write := func(user, field string) harness.Answer {
		return server.Send(t, user, http.MethodPatch, collection+"/bypass", harness.ContentTypes["merge"], field)
	}
	for name, want := range map[string]int{argo: http.StatusOK, "others.argoproj.io": http.StatusForbidden} {
		user := fmt.Sprintf("controller-%d", harness.Unique())
		asked := server.Callers.AddCallerFunc(user, func(q harness.Question) bool {
			return q.Verb == "patch" || q.Verb == "get" || q.Verb == "bypass" && q.Name == name &&
				q.Group == v1alpha1.GroupName && q.Resource == "fieldpermissions"
		})
		if a := write(user, `{"spec":{"destination":{"server":"https://`+name+`"}}}`); a.Code != want {
			t.Errorf("bypass of %s: %s", name, a)
		}
		asked.Verbs()
		if a := write(user, `{"spec":{"project":"`+name+`"}}`); a.Code != http.StatusOK {
			t.Errorf("another field: %s", a)
		}
		for _, verb := range asked.Verbs() {
			if verb == "bypass" {
				t.Error("bypass was asked for a write that is not refused")
			}
		}
	}
}
