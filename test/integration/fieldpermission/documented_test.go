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

// TestDeletionIsNotHeld holds what an exclusion of finalizers does not stop, as its page says: deletion, with the two finalizers that
// belong to it, and an object that is created again without the value. With any other finalizer it is refused.
//
// Attack: the finalizers of an object are closed, and a holder of delete sets the finalizer orphan, or deletes the object and creates it anew
// Answer: both are part of delete: an exclusion guards values and not existence
func TestDeletionIsNotHeld(t *testing.T) {
	const collection = "/api/v1/namespaces/default/configmaps"
	put(t, server, "configmaps", v1alpha1.ModeEnforce, "v1", excluded(".metadata.finalizers", "example.com/finalizers"))
	user := caller(server, "create", "delete", "get", "patch")
	for policy, finalizer := range map[string]string{"Orphan": "orphan", "Foreground": "foregroundDeletion"} {
		name := strings.ToLower(policy)
		path := collection + "/" + name
		create := func(user string) {
			t.Helper()
			if a := server.Send(t, user, http.MethodPost, collection, harness.ContentTypes["json"], parsed(t, `{"apiVersion":"v1","kind":"ConfigMap"}`, name)); a.Code != http.StatusCreated {
				t.Fatal(a)
			}
		}
		create(user)
		a := server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"finalizers":["`+finalizer+`"]}}`)
		if a.Code != http.StatusForbidden {
			t.Errorf("%s by a patch: %s", finalizer, a)
		}
		if a := server.Send(t, user, http.MethodDelete, path+"?propagationPolicy="+policy, "", nil); a.Code != http.StatusOK {
			t.Fatalf("%s: %s", policy, a)
		}
		if got := fmt.Sprint(harness.ValueAt(server.LiveObject(t, path), "metadata", "finalizers")); got != "["+finalizer+"]" {
			t.Errorf("%s: %s", policy, got)
		}
		// No garbage collector runs here.
		server.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"finalizers":null}}`)
		create(user)
		server.MustSend(t, http.MethodDelete, path, "", nil)
	}
}

// TestEntriesAreNotPublished holds that the OpenAPI documents of a resource keep their tags when entries are added:
// every client of the cluster would read them again.
//
// Attack: an edit of a FieldPermission each second makes every client read megabytes of OpenAPI again
// Answer: entries are not published there; the tools read FieldPermissions
func TestEntriesAreNotPublished(t *testing.T) {
	define(t, server, "applications.yaml")
	documents := []string{"/openapi/v3/apis/argoproj.io/v1alpha1", "/openapi/v3/api/v1"}
	tags := func() (out []string) {
		for _, document := range documents {
			a := server.MustSend(t, http.MethodGet, document, "", nil)
			if out = append(out, a.Header.Get("Etag")); out[len(out)-1] == "" {
				t.Fatalf("%s has no tag", document)
			}
			if strings.Contains(string(a.Body), "argoproj.io/destination") || strings.Contains(string(a.Body), "example.com/externalIPs") {
				t.Errorf("%s has an entry", document)
			}
		}
		return out
	}
	harness.Until(t, "the definition is published", func() bool {
		return server.Send(t, "", http.MethodGet, documents[0], "", nil).Code == http.StatusOK
	})
	before := tags()
	put(t, server, argo, v1alpha1.ModeEnforce, "v1alpha1", excluded(".spec.destination", "argoproj.io/destination"))
	put(t, server, "services", v1alpha1.ModeEnforce, "v1", excluded(".spec.externalIPs", "example.com/externalIPs"))
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	if a := server.Send(t, caller(server, "create"), http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "published", open)); a.Code != http.StatusForbidden {
		t.Errorf("the entries are not in force: %s", a)
	}
	if after := tags(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("tags %s, before %s", after, before)
	}
}
