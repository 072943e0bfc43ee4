// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestAttacks runs the scripts that try to get around the authorization of single fields. Their
// comments are the source of docs/generated/attacks.md.
func TestAttacks(t *testing.T) {
	harness.RunScripts(t, on, "attack_*.txtar")
}

// TestManagedFieldsPruned runs the attacks on managed fields with the gate
// PrunedFieldManagement on.
//
// Attack: all attempts on managed fields, with the gate `PrunedFieldManagement` on
// Answer: the same
func TestManagedFieldsPruned(t *testing.T) {
	c := harness.Start(t, "--feature-gates", "PrunedFieldManagement=true")
	harness.RunScripts(t, c, "attack_managed_fields*.txtar")
}

// TestAnswersShowNothing checks that a granular caller without get sees only the identity of
// the object, in whatever format it asks for the answer. The caller gets no warnings either,
// because they could quote fields.
//
// Attack: the answer as Table, PartialObjectMetadata, YAML, protobuf, pretty, dry
// Answer: only the identity
//
// Attack: warnings about fields that the object already had
// Answer: not passed on
// Was: got through
func TestAnswersShowNothing(t *testing.T) {
	admin := harness.Administrator(t, on)
	harness.Create(t, admin, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"answers"}}`)
	harness.Create(t, admin, "/api/v1/namespaces/answers/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"hush":"hush"}},"stringData":{"password":"hunter2"}}`)
	harness.Create(t, admin, "/api/v1/namespaces/answers/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","labels":{"hush":"hush"}},"spec":{"externalName":"hush.example","ports":[{"port":80}]}}`)
	for user, verbs := range map[string][]string{
		"answers-blind":  {"granular", "granular:metadata"},
		"answers-reader": {"granular", "granular:metadata", "get"},
	} {
		harness.Allow(t, admin, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: verbs})
	}
	client := harness.Connect(t, on, "admin")
	for _, accept := range []string{
		"application/json",
		"application/yaml",
		"application/vnd.kubernetes.protobuf",
		"application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=meta.k8s.io, application/json",
	} {
		for _, resource := range []string{"secrets", "services"} {
			for _, query := range []string{"", "?pretty=true", "?includeObject=Object", "?dryRun=All"} {
				path := "/api/v1/namespaces/answers/" + resource + "/s" + query
				for user, shows := range map[string]bool{"answers-blind": false, "answers-reader": true} {
					a, err := client.Do(t.Context(), harness.Call{
						As: harness.Impersonating(user), Method: http.MethodPatch, Path: path, ContentType: harness.ContentTypes["merge"], Accept: accept,
						Body: `{"metadata":{"labels":{"by":"` + user + `"}}}`,
					})
					if err != nil || a.Code != http.StatusOK {
						t.Fatalf("%s %s, %s: %s, %v", user, path, accept, a, err)
					}
					answer, warned := string(a.Body), strings.Join(a.Warnings(), " ")
					seen := strings.Contains(answer+warned, "hush") || strings.Contains(answer, "aHVudGVy") || strings.Contains(answer, "hunter2")
					if !shows && (seen || warned != "") {
						t.Errorf("%s, %s: a caller without get sees %s\nwarnings: %s", path, accept, answer, warned)
					}
					if resource == "services" && (warned != "") != shows {
						t.Errorf("%s, %s: %s is warned: %q", path, accept, user, warned)
					}
					if shows && strings.HasPrefix(accept, "application/json") && !strings.Contains(accept, "Table") && !seen {
						t.Errorf("%s, %s: a caller with get sees nothing: %s", path, accept, answer)
					}
				}
			}
		}
	}
}
