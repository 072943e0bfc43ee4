// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"testing"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// auditPolicy creates a policy that writes audit annotations about config maps with a label. The keys
// of the annotations begin with the name of the policy.
func auditPolicy(t *testing.T, name string, annotations map[string]string) {
	t.Helper()
	const group = "/apis/admissionregistration.k8s.io/v1/"
	var list []any
	for key, value := range annotations {
		list = append(list, map[string]any{"key": key, "valueExpression": fmt.Sprintf("%q", value)})
	}
	for path, object := range map[string]any{
		"validatingadmissionpolicies": map[string]any{"kind": "ValidatingAdmissionPolicy", "spec": map[string]any{
			"failurePolicy": "Ignore", "auditAnnotations": list,
			"matchConstraints": map[string]any{"objectSelector": map[string]any{"matchLabels": map[string]any{"forged": "yes"}},
				"resourceRules": []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"configmaps"}}}}}},
		"validatingadmissionpolicybindings": map[string]any{"kind": "ValidatingAdmissionPolicyBinding",
			"spec": map[string]any{"policyName": name, "validationActions": []any{"Audit"}}},
	} {
		object := object.(map[string]any)
		object["apiVersion"], object["metadata"] = "admissionregistration.k8s.io/v1", map[string]any{"name": name}
		harness.Create(t, harness.Administrator(t, on), group+path, mustJSON(t, object))
	}
}

// TestForgedAnnotations checks that a policy writes no audit annotation that looks like one of the
// server. Tools learn roles from these, and find out on whose behalf a request was made.
//
// Attack: the author of a policy or webhook gives it a name below kube-granular.dev, so that its audit annotations say that a request was made under a delegation, or which permissions it used
// Answer: the event does not have them; those of other policies stay
// Was: got through
func TestForgedAnnotations(t *testing.T) {
	other := fmt.Sprintf("forged-%d.example.com", harness.Unique())
	auditPolicy(t, "authority.kube-granular.dev", map[string]string{"selected": `{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`, "chain": `[{"via":"Delegation","by":"mallory"}]`})
	auditPolicy(t, "granular.authorization.kube-granular.dev", map[string]string{"permissions": "granular:data", "marked": "true"})
	auditPolicy(t, other, map[string]string{"chain": "mine"})
	var found map[string]string
	harness.Until(t, "the policies are in force", func() bool {
		path := fmt.Sprintf("/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=forged-%d", harness.Unique())
		status, answer, err := harness.Request(on, "", http.MethodPost, path, harness.ContentTypes["json"],
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"forged","labels":{"forged":"yes"}}}`)
		if err != nil || status != http.StatusCreated {
			t.Fatalf("%d %s %v", status, answer, err)
		}
		harness.Until(t, "there is an event of "+path, func() bool {
			event := harness.Event(t, auditLog, path)
			if event != nil {
				found = event.Annotations
			}
			return event != nil
		})
		return found[other+"/chain"] == "mine"
	})
	if own := audit.WithoutReserved(found); len(own) != len(found) {
		t.Errorf("the event has annotations that only the server writes: %v", found)
	}
	if found["authorization.k8s.io/decision"] != "allow" {
		t.Errorf("the event does not have the decision of the authorizer: %v", found)
	}
}
