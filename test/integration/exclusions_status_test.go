// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/pkg/exclusion"
	"kube-granular.dev/test/integration/harness"
)

// owners grants two users all ordinary verbs on definitions and their status. Only the second one
// may weaken what a definition excludes.
func owners(t *testing.T, admin *kubernetes.Clientset) (without, with string) {
	t.Helper()
	n := harness.Unique()
	without, with = fmt.Sprintf("owner-%d", n), fmt.Sprintf("weakener-%d", n)
	rule := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions", "customresourcedefinitions/status"},
		Verbs: []string{"get", "create", "update", "patch", "delete"}}
	verb := rbacv1.PolicyRule{APIGroups: rule.APIGroups, Resources: rule.Resources[:1], Verbs: []string{exclusion.Verb}}
	vaults := rbacv1.PolicyRule{APIGroups: []string{"vaults.example.com"}, Resources: []string{"*"}, Verbs: []string{"get", "update", "patch"}}
	harness.Allow(t, admin, without, rule, vaults)
	harness.Allow(t, admin, with, rule, vaults, verb)
	return without, with
}

// vaultWithObject installs a definition that excludes a field, and an object of it. It returns the
// plural name, and the paths of the definition and of the object.
func vaultWithObject(t *testing.T, object string) (plural, definition, path string) {
	t.Helper()
	plural = fmt.Sprintf("boxes%d", harness.Unique())
	name := plural + ".vaults.example.com"
	harness.Define(t, on, name, mustJSON(t, vault(plural)))
	collection := "/apis/vaults.example.com/v1/" + plural
	harness.WaitServed(t, on, collection)
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	if status, answer, err := harness.Request(on, "", http.MethodPost, collection, harness.ContentTypes["json"],
		fmt.Sprintf(`{"apiVersion":"vaults.example.com/v1","kind":%q,%s}`, kind, object)); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	return plural, harness.Definitions + "/" + name, collection + "/x"
}

// patched sends a merge patch.
func patched(t *testing.T, user, path, body string) (int, string) {
	t.Helper()
	status, answer, err := harness.Request(on, user, http.MethodPatch, path, harness.ContentTypes["merge"], body)
	if err != nil {
		t.Fatal(err)
	}
	return status, answer
}

// refusedBy checks that an answer is a 403 that names the verb and a field.
func refusedBy(t *testing.T, status int, answer, field string) {
	t.Helper()
	if status != http.StatusForbidden || !strings.Contains(answer, exclusion.Verb) || !strings.Contains(answer, field) {
		t.Errorf("%d %s, want a refusal that names %s", status, answer, field)
	}
}

// TestExclusionsUnderAnotherName checks that a definition does not get the accepted name of another
// one, whose objects it would then write under its own schema.
//
// Attack: a caller that writes the status of definitions gives its own definition the accepted name of a resource that excludes fields, and writes the objects of that one
// Answer: 403 without granular:permissionExclusion
// Was: got through
// Held by: TestStatusOpenings
func TestExclusionsUnderAnotherName(t *testing.T) {
	without, with := owners(t, harness.Administrator(t, on))
	plural, _, path := vaultWithObject(t, `"metadata":{"name":"x"},"spec":{"secret":"x"}`)
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	n := harness.Unique()
	occupied, alias := fmt.Sprintf("occupied%d", n), fmt.Sprintf("alias%d", n)
	// The short name is the plural name of the alias. So the server does not accept that name, and does
	// not correct a name in the status.
	occupant := withoutExtensions(vault(occupied))
	harness.SetAt(occupant, []any{alias}, "spec", "names", "shortNames")
	harness.Define(t, on, occupied+".vaults.example.com", mustJSON(t, occupant))
	forged := withoutExtensions(vault(alias))
	harness.SetAt(forged, kind, "spec", "names", "kind")
	harness.SetAt(forged, kind+"List", "spec", "names", "listKind")
	if status, answer, err := harness.Request(on, without, http.MethodPost, harness.Definitions, harness.ContentTypes["json"], mustJSON(t, forged)); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	definition := harness.Definitions + "/" + alias + ".vaults.example.com"
	names := fmt.Sprintf(`{"status":{"acceptedNames":{"plural":%q,"kind":%q,"listKind":%q,"singular":"sx"},
		"conditions":[{"type":"Established","status":"True","reason":"x","message":"x","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, plural, kind, kind+"List")
	status, answer := patched(t, without, definition+"/status", names)
	refusedBy(t, status, answer, ".status.acceptedNames.plural")
	if status, answer := patched(t, without, "/apis/vaults.example.com/v1/"+alias+"/x", `{"spec":{"secret":"mine"}}`); status < 400 {
		t.Errorf("the object was written: %d %s", status, answer)
	}
	if secret := harness.ValueAt(getObject(t, path), "spec", "secret"); secret != "x" {
		t.Errorf("the excluded field is %v", secret)
	}
	if status, answer := patched(t, without, definition+"/status", `{"status":{"storedVersions":["v1"]}}`); status != http.StatusOK {
		t.Errorf("another part of the status: %d %s", status, answer)
	}
	if status, answer := patched(t, with, definition+"/status", names); status != http.StatusOK {
		t.Errorf("with the verb: %d %s", status, answer)
	}
}

// TestExclusionsOutlived checks that objects do not outlive the definition that excludes some of
// their fields. Otherwise a new definition of the same name would open them.
//
// Attack: a caller takes the condition Established from a definition, or its finalizer while the server deletes the objects, so that the objects outlive the definition and a new one opens their fields
// Answer: 403 without granular:permissionExclusion
// Was: got through
// Held by: TestStatusOpenings
func TestExclusionsOutlived(t *testing.T) {
	without, with := owners(t, harness.Administrator(t, on))
	// The object has a finalizer, so that the server can't complete the deletion of the definition.
	_, definition, path := vaultWithObject(t, `"metadata":{"name":"x","finalizers":["vaults.example.com/hold"]},"spec":{"secret":"x"}`)
	status, answer := patched(t, without, definition+"/status", `{"status":{"conditions":[]}}`)
	refusedBy(t, status, answer, ".status.conditions")
	if status, answer, err := harness.Request(on, without, http.MethodDelete, definition, "", ""); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	for _, resource := range []string{definition, definition + "/status"} {
		harness.Until(t, "no conflict", func() bool {
			status, answer = patched(t, without, resource, `{"metadata":{"finalizers":null}}`)
			return status != http.StatusConflict
		})
		refusedBy(t, status, answer, ".metadata.finalizers")
	}
	if status, answer := patched(t, without, definition, `{"metadata":{"labels":{"a":"b"}}}`); status != http.StatusOK {
		t.Errorf("a label: %d %s", status, answer)
	}
	if status, answer := patched(t, with, definition+"?dryRun=All", `{"metadata":{"finalizers":null}}`); status != http.StatusOK {
		t.Errorf("with the verb: %d %s", status, answer)
	}
	before := harness.Metrics(t, on)[`exclusion_updates_total{result="opened"}`]
	if status, answer := patched(t, "", path, `{"metadata":{"finalizers":null}}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	harness.Until(t, "the server removes the definition", func() bool {
		status, _, err := harness.Request(on, "", http.MethodGet, definition, "", "")
		return err == nil && status == http.StatusNotFound
	})
	if after := harness.Metrics(t, on)[`exclusion_updates_total{result="opened"}`]; after != before {
		t.Errorf("the server's own update counts as one that opens")
	}
}
