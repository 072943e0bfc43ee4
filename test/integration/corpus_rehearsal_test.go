// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// rehearsal sends one scenario of the corpus to the server in one way, such as a PUT or a merge
// patch.
type rehearsal struct {
	*harness.Server
	stamps *harness.MutatingWebhook
	s      *corpus.Scenario
	way    string
	id     string

	user            string
	caller          *harness.Caller
	collection, one string
	// live is the stored object before the request. It is nil if the request creates the
	// object.
	live corpus.Object
}

func (r *rehearsal) run(t *testing.T) {
	r.user = "caller-" + r.id
	if r.s.Final != nil && !r.s.Reset {
		r.user = "stamped-" + r.id
		r.stamps.SetPatch(r.user, corpus.Diff(r.s.New, r.s.Final))
	}
	r.prepare(t)
	way := r.request(t)
	verbs := append([]string{"get"}, r.s.Grants...)
	if r.s.Unmarked {
		verbs = append(verbs, way.verb)
	} else {
		verbs = append(verbs, "granular")
	}
	r.caller = r.Callers.AddCaller(r.user, verbs...)
	r.compare(t, way.verb, r.send(t, way))
}

// sent is a request, with the ordinary verb that the server asks for first.
type sent struct {
	verb, method, path, contentType string
	body                            any
}

func (r *rehearsal) send(t *testing.T, s sent) harness.Answer {
	t.Helper()
	return r.Send(t, r.user, s.method, s.path, s.contentType, s.body)
}

// own returns a copy of an object of the scenario with a unique name.
func (r *rehearsal) own(o corpus.Object) corpus.Object {
	gvk := r.s.GVK()
	u := unstructured.Unstructured{Object: runtime.DeepCopyJSON(o)}
	u.SetGroupVersionKind(gvk)
	if u.GetName() != "" {
		u.SetName(harness.UniqueName(u.GetName(), "-", r.id))
	}
	return u.Object
}

// prepare stores the object as it is before the request, including its status.
func (r *rehearsal) prepare(t *testing.T) {
	t.Helper()
	if r.s.Old == nil {
		r.collection, r.one = r.Paths(t, r.own(r.s.New))
		return
	}
	old := r.own(r.s.Old)
	r.collection, r.one = r.Paths(t, old)
	r.MustSend(t, http.MethodPost, r.collection, harness.ContentTypes["json"], old)
	if status, ok := old["status"]; ok {
		r.MustSend(t, http.MethodPatch, r.one+"/status", harness.ContentTypes["merge"], map[string]any{"status": status})
	}
	r.live = r.Server.LiveObject(t, r.one)
}

// request returns the request that makes the scenario's change.
func (r *rehearsal) request(t *testing.T) sent {
	t.Helper()
	one := r.one
	if r.s.Subresource != "" {
		one += "/" + r.s.Subresource
	}
	wanted := corpus.Overlay(r.live, corpus.Diff(r.s.Old, r.s.New))
	method, verb, path, contentType := http.MethodPatch, "patch", one, harness.ContentTypes[r.way]
	var body any
	switch r.way {
	case "put":
		method, verb, contentType, body = http.MethodPut, "update", harness.ContentTypes["json"], wanted
	case "post":
		method, verb, contentType, path, body = http.MethodPost, "create", harness.ContentTypes["json"], r.collection, r.own(r.s.New)
	case "merge":
		body = corpus.Diff(r.live, wanted)
	case "json":
		contentType, body = harness.ContentTypes["jsonpatch"], harness.JSONPatch(r.live, wanted)
	case "strategic":
		body = r.strategic(t, wanted)
	case "apply":
		path += "?force=true&fieldManager=" + r.user
		body = corpus.Overlay(wanted, corpus.Object{"metadata": map[string]any{
			"managedFields": nil, "resourceVersion": nil, "uid": nil, "creationTimestamp": nil, "generation": nil,
		}})
	}
	return sent{verb, method, path, contentType, body}
}

func (r *rehearsal) strategic(t *testing.T, wanted corpus.Object) []byte {
	t.Helper()
	goType, err := scheme.Scheme.New(r.s.GVK())
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(r.live)
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, goType)
	if err != nil {
		t.Fatal(err)
	}
	return patch
}

// compare checks the answer, the verbs that the authorizer was asked, and the stored object
// against the scenario.
func (r *rehearsal) compare(t *testing.T, verb string, got harness.Answer) {
	t.Helper()
	// When a role or binding is written, the RBAC storage itself asks for these verbs.
	asked := slices.DeleteFunc(r.caller.Verbs(), func(verb string) bool { return verb == "escalate" || verb == "bind" })
	want := []string{verb}
	if !r.s.Unmarked {
		want = append(want, "granular")
	}
	if r.s.Answer != 0 {
		if got.Code != r.s.Answer {
			t.Errorf("got %s\nwanted %d", got, r.s.Answer)
		}
	} else {
		want = append(want, r.s.Asked...)
	}
	allowed := r.s.Decision == corpus.Allow && r.s.Answer == 0
	if get := slices.Index(asked, "get"); !r.s.Unmarked && get >= 0 {
		// The server asks for get to learn whether the caller may see the answer, and the keys
		// in a refusal. It asks this earlier if the change has parts that the request does not
		// contain. So the comparison leaves get out.
		asked = slices.Delete(asked, get, get+1)
	} else if !r.s.Unmarked && (allowed || r.s.Answer != 0) {
		t.Error("nobody asked whether the caller may see the answer")
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	switch {
	case r.s.Answer != 0:
	case allowed && got.Code >= 300:
		t.Errorf("got %s", got)
	case r.s.Decision == corpus.Forbidden:
		r.refused(t, got)
	}
	r.stored(t, allowed)
}

// refused checks that the answer is the refusal that the scenario expects, word for word.
func (r *rehearsal) refused(t *testing.T, got harness.Answer) {
	t.Helper()
	u := unstructured.Unstructured{Object: r.own(r.s.New)}
	mapping := r.Mapping(t, r.s.GVK())
	where := ""
	if u.GetNamespace() != "" {
		where = fmt.Sprintf(" in namespace %q", u.GetNamespace())
	} else if mapping.Resource.Resource == "namespaces" && r.s.Old != nil {
		// For authorization, a namespace object is in the namespace of its own name.
		where = fmt.Sprintf(" in namespace %q", u.GetName())
	}
	if r.s.Subresource != "" {
		where += fmt.Sprintf(" through %q", mapping.Resource.Resource+"/"+r.s.Subresource)
	}
	want := fmt.Sprintf("%s %q is forbidden: User %q cannot change %s%s: %s",
		mapping.Resource.GroupResource(), u.GetName(), r.user, r.s.Field, where, r.s.Needs)
	if got.Code != http.StatusForbidden {
		t.Errorf("got %s\nwanted 403 %s", got, want)
		return
	}
	if diff := cmp.Diff(want, got.Message()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	var status metav1.Status
	if err := json.Unmarshal(got.Body, &status); err != nil {
		t.Fatal(err)
	}
	if causes := status.Details.Causes; len(causes) == 0 || causes[0].Field != r.s.Field {
		t.Errorf("the causes are %v, wanted the field %s", causes, r.s.Field)
	}
	sameInCauses(t, status)
}

// stored checks what the server stores after the request.
func (r *rehearsal) stored(t *testing.T, allowed bool) {
	t.Helper()
	now := r.Send(t, "", http.MethodGet, r.one, "", nil)
	switch {
	case !allowed && r.live == nil:
		if now.Code != http.StatusNotFound {
			t.Errorf("it was refused and is there: %s", now)
		}
	case !allowed:
		if diff := cmp.Diff(r.live, corpus.Object(now.Object(t))); diff != "" {
			t.Errorf("it was refused and stored (-before +after):\n%s", diff)
		}
	default:
		final := r.s.Final
		if final == nil {
			final = r.s.New
		}
		if missing := lacks(map[string]any(corpus.Diff(r.s.Old, final)), now.Object(t)); missing != "" {
			t.Errorf("%s was not stored: %s", missing, now)
		}
	}
}

// lacks returns the path of the first difference between the expected changes and an object, or
// "". Elements of lists may be in any order and may have further fields.
func lacks(diff, is any) string {
	switch diff := diff.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		for name, value := range diff {
			if name == "name" || name == "resourceVersion" {
				continue // each run uses unique names
			}
			there, ok := is[name]
			if value == nil {
				if ok {
					return "." + name + " taken away"
				}
				continue
			}
			if missing := lacks(value, there); missing != "" {
				return "." + name + missing
			}
		}
	case []any:
		is, _ := is.([]any)
		if len(diff) != len(is) {
			return fmt.Sprintf(" of %d elements", len(diff))
		}
		for i, element := range diff {
			if !slices.ContainsFunc(is, func(e any) bool { return lacks(element, e) == "" }) {
				return fmt.Sprintf("[%d]", i)
			}
		}
	default:
		before, _ := json.Marshal(diff)
		after, _ := json.Marshal(is)
		if !bytes.Equal(before, after) {
			return fmt.Sprintf(": %s", before)
		}
	}
	return ""
}
