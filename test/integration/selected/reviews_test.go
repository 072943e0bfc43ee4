// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"kube-granular.dev/api/selection"
)

const authorization = "/apis/authorization.k8s.io/v1/"

// TestSelfReviews checks that reviews of oneself report only the rights of the selected role,
// and that they work under every selection.
func TestSelfReviews(t *testing.T) {
	policy(t, on, "asked", "jane", "admin", "view")
	jane := person("jane", "a-group")
	request{as: jane, method: "GET", path: "/api/v1/namespaces/asked/secrets"}.eventually(t, 200)
	request{as: jane, method: "GET", path: "/api/v1/namespaces/asked/pods", selects: []string{clusterRole("view")}}.eventually(t, 200)
	for _, tc := range []struct {
		selects  []string
		resource string
		allowed  bool
	}{
		{nil, "secrets", true}, {[]string{clusterRole("admin")}, "secrets", true}, {[]string{clusterRole("view")}, "secrets", false},
		{[]string{clusterRole("view")}, "pods", true}, {[]string{clusterRole("none")}, "pods", false}, {[]string{role("asked", "none")}, "pods", false},
	} {
		var access authorizationv1.SelfSubjectAccessReview
		read(t, request{as: jane, method: "POST", path: authorization + "selfsubjectaccessreviews", selects: tc.selects,
			body: fmt.Sprintf(`{"spec":{"resourceAttributes":{"namespace":"asked","verb":"list","resource":%q}}}`, tc.resource)}, &access)
		if access.Status.Allowed != tc.allowed {
			t.Errorf("%q, %s: %+v", tc.selects, tc.resource, access.Status)
		}
		var rules authorizationv1.SelfSubjectRulesReview
		read(t, request{as: jane, method: "POST", path: authorization + "selfsubjectrulesreviews", selects: tc.selects, body: `{"spec":{"namespace":"asked"}}`}, &rules)
		listed := slices.ContainsFunc(rules.Status.ResourceRules, func(r authorizationv1.ResourceRule) bool {
			return slices.Contains(r.Resources, tc.resource) && slices.Contains(r.Verbs, "list")
		})
		if listed != tc.allowed || rules.Status.EvaluationError != "" {
			t.Errorf("%q, %s: rules %+v", tc.selects, tc.resource, rules.Status)
		}
	}
	got := request{as: person("jane", "system:masters"), method: "POST",
		path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: "{}",
		selects: []string{clusterRole("view")}}.want(t, 201)
	if !strings.Contains(got.body, selection.ExtraKey) || strings.Contains(got.body, "system:masters") {
		t.Error(got)
	}
	// A review of another user needs a right, and the selected role must contain it.
	body := `{"spec":{"user":"jane","resourceAttributes":{"namespace":"asked","verb":"list","resource":"pods"}}}`
	request{as: master, method: "POST", path: authorization + "subjectaccessreviews", body: body,
		selects: []string{clusterRole("view")}}.want(t, 403)
	request{as: master, method: "POST", path: authorization + "subjectaccessreviews", body: body,
		selects: []string{clusterRole("system:auth-delegator")}}.want(t, 201)
}

// TestSubjectAccessReviews checks that an access review can name a selection in the extra
// fields of the user. An aggregated server does this with the selection that it received.
//
// Attack: a selection in an access review that can't be read
// Answer: denied
func TestSubjectAccessReviews(t *testing.T) {
	policy(t, on, "reviewed", "jane", "admin", "view")
	request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/reviewed/secrets"}.eventually(t, 200)
	request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/reviewed/pods",
		selects: []string{clusterRole("view")}}.eventually(t, 200)
	for _, tc := range []struct {
		name, resource  string
		extra           []string
		groups          []string
		allowed, denied bool
	}{
		{"nothing selected", "secrets", nil, nil, true, false},
		{"view", "pods", []string{clusterRole("view")}, nil, true, false},
		{"view without the right", "secrets", []string{clusterRole("view")}, nil, false, false},
		{"a master", "secrets", nil, []string{"system:masters"}, true, false},
		{"a master who selects", "secrets", []string{clusterRole("view")}, []string{"system:masters"}, false, false},
		{"a master who selects, with the right", "pods", []string{clusterRole("view")}, []string{"system:masters"},
			true, false},
		{"nonsense", "pods", []string{"x"}, []string{"system:masters"}, false, true},
		{"two", "pods", []string{clusterRole("view"), clusterRole("view")}, nil, false, true},
		{"empty", "pods", []string{}, nil, false, true},
		{"a delegation", "pods", []string{`{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`}, nil,
			false, true},
	} {
		review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "jane", Groups: tc.groups, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "reviewed", Verb: "list", Resource: tc.resource},
		}}
		if tc.extra != nil {
			review.Spec.Extra = map[string]authorizationv1.ExtraValue{selection.ExtraKey: tc.extra}
		}
		body, err := json.Marshal(review)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"subjectaccessreviews", "namespaces/reviewed/localsubjectaccessreviews"} {
			var answer authorizationv1.SubjectAccessReview
			local := string(body)
			if strings.HasPrefix(path, "namespaces") {
				local = strings.Replace(local, `"metadata":{}`, `"metadata":{"namespace":"reviewed"}`, 1)
			}
			read(t, request{as: master, method: "POST", path: authorization + path, body: local}, &answer)
			if answer.Status.Allowed != tc.allowed || answer.Status.Denied != tc.denied {
				t.Errorf("%s, %s: %+v", tc.name, path, answer.Status)
			}
		}
	}
}

// read sends a request that must return 201, and decodes the body.
func read(t *testing.T, r request, into any) {
	t.Helper()
	got := r.want(t, 201)
	if err := json.Unmarshal([]byte(got.body), into); err != nil {
		t.Fatal(err)
	}
}
