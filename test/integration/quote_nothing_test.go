// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestWarningsQuoteNothing checks that a granular caller without get sees no warnings that
// quote fields of the object. The caller neither sent these fields nor may see them.
func TestWarningsQuoteNothing(t *testing.T) {
	s := onStage(t)
	path, _ := s.CreateObject(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: warned}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {nodeSelector: {beta.kubernetes.io/arch: quoted}, containers: [{name: a, image: one, resources: {requests: {memory: "1234567.5"}}}]}}}}`)
	for i, tc := range []struct {
		name   string
		grants []string
		warned bool
	}{
		{"who may get it", []string{"granular", "granular:replicas", "get"}, true},
		{"who may not", []string{"granular", "granular:replicas"}, false},
		{"who may patch it", []string{"patch"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("warned-%d", i)
			s.Callers.AddCaller(user, tc.grants...)
			a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], fmt.Sprintf(`{"spec":{"replicas":%d}}`, i+2))
			if a.Code != http.StatusOK {
				t.Fatal(a)
			}
			if warnings := strings.Join(a.Warnings(), "\n"); strings.Contains(warnings, "1234567500m") != tc.warned {
				t.Errorf("the warnings are %q", warnings)
			}
		})
	}
}

// TestRefusalsQuoteNothing checks that a refusal by upstream quotes nothing to a granular
// caller without get. Here upstream would list the rules of a role that the caller may not
// grant.
func TestRefusalsQuoteNothing(t *testing.T) {
	s := onStage(t)
	path, _ := s.CreateObject(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: quoted}, rules: [{apiGroups: [""], resources: [quoted], verbs: [get]}]}`)
	for i, tc := range []struct {
		name   string
		grants []string
		says   string
		not    string
	}{
		{"who may get it", []string{"granular", "granular:labels", "get"}, "Resources:[\"quoted\"]", "shown only"},
		{"who may not", []string{"granular", "granular:labels"}, "shown only to callers who may get the object", "Resources"},
		{"who may patch it", []string{"patch"}, "Resources:[\"quoted\"]", "shown only"},
		{"our own refusal", []string{"granular", "escalate"}, "cannot change .metadata.labels[a]", "shown only"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("refused-role-%d", i)
			s.Callers.AddCaller(user, tc.grants...)
			a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`)
			if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), tc.says) || strings.Contains(a.Message(), tc.not) {
				t.Errorf("got %s", a)
			}
		})
	}
	// If upstream refuses the create part of an apply, its message quotes nothing, so it stays
	// as it is.
	s.Callers.AddCallerFunc("refused-create", func(q harness.Question) bool { return q.Verb == "patch" })
	a := s.Send(t, "refused-create", http.MethodPatch, "/api/v1/namespaces/default/configmaps/none?fieldManager=m", harness.ContentTypes["apply"], `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"none"}}`)
	if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), `cannot create resource "configmaps"`) {
		t.Errorf("got %s", a)
	}
}

// TestWebhooksQuoteNothing checks that the refusal of an admission webhook reveals nothing to a
// granular caller without get. The webhook chooses all fields of the refusal, and many webhooks
// write a sentence where the API expects one word.
//
// Attack: the reason, details and causes of a webhook's refusal, which are its own choice
// Answer: only words that the API itself defines
// Was: got through
// Held by: TestStatus
func TestWebhooksQuoteNothing(t *testing.T) {
	s := onStage(t)
	st := harness.NewMutatingWebhook(t, s, "quoting-")
	path, _ := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: quoted}, data: {a: hunter2}}`)
	const quote = "it is hunter2"
	result := &metav1.Status{Code: http.StatusTeapot, Reason: quote, Details: &metav1.StatusDetails{
		Name: quote, Kind: quote, UID: quote,
		Causes: []metav1.StatusCause{{Type: quote, Message: quote, Field: quote},
			{Type: metav1.CauseTypeFieldValueInvalid, Field: "data[hunter2]"}},
	}}
	for i, tc := range []struct {
		name   string
		grants []string
		quoted bool
	}{
		{"who may get it", []string{"granular", "granular:labels", "get"}, true},
		{"who may not", []string{"granular", "granular:labels"}, false},
		{"who may patch it", []string{"patch"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user := fmt.Sprintf("quoting-%d", i)
			s.Callers.AddCaller(user, tc.grants...)
			st.Refuse(user, result)
			a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`)
			if a.Code != http.StatusTeapot || strings.Contains(string(a.Body), "hunter2") != tc.quoted {
				t.Errorf("got %s: %s", a, a.Body)
			}
			if !tc.quoted && !strings.Contains(string(a.Body), `"causes":[{"reason":"FieldValueInvalid","field":"data"}]`) {
				t.Errorf("got %s", a.Body)
			}
		})
	}
}
