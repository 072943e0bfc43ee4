// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"io"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestAttacks tries ways around. Their comments make docs/generated/attacks.md.
func TestAttacks(t *testing.T) {
	harness.RunScripts(t, on, "attack_*.txtar")
}

// TestManagedFieldsPruned tries those ways that end in field management where the gate
// PrunedFieldManagement is on, too.
//
// Attack: all attempts on managed fields, with the gate `PrunedFieldManagement` on
// Answer: the same
func TestManagedFieldsPruned(t *testing.T) {
	c, err := cluster.Start("--feature-gates", "PrunedFieldManagement=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the scripts run in parallel, after this function
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	harness.RunScripts(t, c, "attack_managed_fields*.txtar")
}

// TestAnswersShowNothing holds that whatever form of answer a caller without get asks
// for, and in the warnings beside it, there is no more than the identity.
//
// Attack: the answer as Table, PartialObjectMetadata, YAML, protobuf, pretty, dry
// Answer: identity alone
//
// Attack: warnings about fields that were there before
// Answer: not passed on
// Was: got through
func TestAnswersShowNothing(t *testing.T) {
	client := harness.Administrator(t, on)
	harness.Create(t, client, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"answers"}}`)
	harness.Create(t, client, "/api/v1/namespaces/answers/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","labels":{"hush":"hush"}},"stringData":{"password":"hunter2"}}`)
	harness.Create(t, client, "/api/v1/namespaces/answers/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","labels":{"hush":"hush"}},"spec":{"externalName":"hush.example","ports":[{"port":80}]}}`)
	for user, verbs := range map[string][]string{
		"answers-blind":  {"granular", "granular:metadata"},
		"answers-reader": {"granular", "granular:metadata", "get"},
	} {
		harness.Allow(t, client, user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: verbs},
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: verbs})
	}
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
					status, header, answer := patchAccepting(t, user, path, accept)
					if status != http.StatusOK {
						t.Fatalf("%s %s, %s: %d %s", user, path, accept, status, answer)
					}
					warned := strings.Join(header.Values("Warning"), " ")
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

// patchAccepting writes a label and asks for the answer in some form.
func patchAccepting(t *testing.T, user, path, accept string) (int, http.Header, string) {
	t.Helper()
	config, err := on.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, on.URL+path, strings.NewReader(`{"metadata":{"labels":{"by":"`+user+`"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", harness.ContentTypes["merge"])
	req.Header.Set("Accept", accept)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(answer)
}
