// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

// TestEntryIsNoDeclaration holds that a definition whose author declares nothing keeps the permissions by convention when an
// administrator adds entries: what was granted before goes on, also for the field of a name. Inside an exclusion it does not.
//
// Attack: the first entry makes the definition one that declares something, so the permissions by convention vanish and every grant of them is void
// Answer: an entry is no declaration
func TestEntryIsNoDeclaration(t *testing.T) {
	define(t, server, "applications.yaml")
	collection := fmt.Sprintf(inDefault, "v1alpha1")
	path := collection + "/silent"
	server.MustSend(t, http.MethodPost, collection, harness.ContentTypes["json"], application("v1alpha1", "silent", open))
	t.Cleanup(func() { // otherwise the definition can't be deleted
		server.Send(t, "", http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"finalizers":null}}`)
	})
	n := 0
	conventions := func(t *testing.T) {
		t.Helper()
		for verb, body := range map[string]string{
			"granular:specification": `{"spec":{"project":"%d"}}`, "granular:replicas": `{"spec":{"shards":%d}}`, "granular:status": `{"status":{"phase":"%d"}}`,
			"granular:label": `{"metadata":{"labels":{"a.example.com/b":"%d"}}}`, "granular:finalizers": `{"metadata":{"finalizers":["a.example.com/x%d"]}}`,
		} {
			if verb == "granular:label" {
				verb = "granular:label(a.example.com)"
			}
			subresource := ""
			if verb == "granular:status" {
				subresource = "/status"
			}
			server.Twins(t, path+subresource, "cannot change", []string{verb, "granular", "get"}, func(user string) harness.Answer {
				n++
				return server.Send(t, user, http.MethodPatch, path+subresource, harness.ContentTypes["merge"], fmt.Sprintf(body, n+2))
			})
		}
	}
	t.Run("before", conventions)
	put(t, server, argo, v1alpha1.ModeEnforce, "v1alpha1", named(".spec.syncPolicy", "argoproj.io/syncPolicy"), excluded(".spec.destination", "argoproj.io/destination"))
	t.Run("with entries", conventions)
	// What includes the field of a name still does.
	server.Twins(t, path, "cannot change", []string{"granular:specification", "granular", "get"}, func(user string) harness.Answer {
		n++
		return server.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], fmt.Sprintf(`{"spec":{"syncPolicy":{"syncOptions":["%d"]}}}`, n))
	})
	a := server.Send(t, caller(server, "granular", "granular:specification", "get"), http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"destination":{"server":"https://b"}}}`)
	if a.Code != http.StatusForbidden {
		t.Errorf("the closed field: %s", a)
	}
}

// TestEntriesAndNeutral holds that the neutral permissions of a delegation policy are those of the registry: an entry gives no
// further one, and a built-in one covers the same fields as without entries.
//
// Attack: an administrator gives a field a permission and a policy lists it as neutral, so that changes of the field do not trigger the policy
// Answer: only permissions of the registry can be neutral
func TestEntriesAndNeutral(t *testing.T) {
	put(t, server, "deployments.apps", v1alpha1.ModeEnforce, "v1", excluded(".spec.paused", "example.com/pause"))
	policy := func(neutral string) harness.Answer {
		body := map[string]any{
			"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "AuthorityDelegationPolicy",
			"metadata": map[string]any{"name": fmt.Sprintf("neutral-%d", harness.Unique())},
			"spec": json.RawMessage(`{"resource":{"group":"apps","resource":"deployments"},"neutral":["` + neutral + `"],
				"delegates":[{"kind":"User","name":"runner"}],"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`),
		}
		return server.Send(t, "", http.MethodPost, "/apis/authority.kube-granular.dev/v1alpha1/authoritydelegationpolicies?dryRun=All", harness.ContentTypes["json"], body)
	}
	if a := policy("example.com/pause"); a.Code != http.StatusUnprocessableEntity {
		t.Errorf("the permission of an entry: %s", a)
	}
	if a := policy("replicas"); a.Code != http.StatusCreated {
		t.Errorf("a permission of the registry: %s", a)
	}
}
