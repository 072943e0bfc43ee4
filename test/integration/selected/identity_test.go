// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"kube-granular.dev/api/selection"
)

// TestImpersonation checks that a selection can't be sent by impersonation headers, and that
// the header Authority-Selector applies to the impersonated user and not to the impersonator.
//
// Attack: a selection by `Impersonate-Extra-`, in any spelling
// Answer: 400
func TestImpersonation(t *testing.T) {
	policy(t, on, "acted", "jane", "admin")
	jane := http.Header{"Impersonate-User": {"jane"}}
	request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/acted/secrets"}.eventually(t, 200)
	request{as: master, method: "GET", path: "/api/v1/namespaces/acted/secrets", header: jane}.want(t, 200)
	request{as: master, method: "GET", path: "/api/v1/namespaces/acted/secrets", header: jane,
		selects: []string{clusterRole("view")}}.want(t, 403)
	request{as: master, method: "GET", path: "/api/v1/namespaces/acted/pods", header: jane,
		selects: []string{clusterRole("view")}}.want(t, 200)
	request{as: master, method: "GET", path: "/api/v1/namespaces/default/pods", header: jane,
		selects: []string{clusterRole("view")}}.want(t, 403)
	request{as: master, method: "GET", path: "/api/v1/namespaces/default/pods",
		selects: []string{clusterRole("view")}}.want(t, 200)
	for _, key := range []string{
		"Impersonate-Extra-Authority.kube-granular.dev%2fselected", "Impersonate-Extra-authority.kube-granular.dev%2Fselected", "impersonate-extra-AUTHORITY.kube-granular.dev%2Fselected",
	} {
		for _, value := range []string{clusterRole("view"), clusterRole("cluster-admin"), "x"} {
			forged := http.Header{"Impersonate-User": {"jane"}}
			forged.Set(key, value)
			request{as: master, method: "GET", path: "/api/v1/namespaces/acted/pods", header: forged}.want(t, 400)
		}
	}
	other := http.Header{"Impersonate-User": {"jane"}, "Impersonate-Extra-Example.com%2fa": {"b"}}
	request{as: master, method: "GET", path: "/api/v1/namespaces/acted/pods", header: other}.want(t, 200)
}

// TestForgedByAuthenticator checks that a token issuer can't select a role for a user.
//
// Attack: a selection in an issuer's claims about a user
// Answer: 200, dropped
func TestForgedByAuthenticator(t *testing.T) {
	policy(t, on, "issued", "jane", "admin")
	for name, value := range map[string][]string{"another role": {clusterRole("view")}, "nonsense": {"x", "y"}, "nothing": {}} {
		forged := person("jane")
		forged.Extra = map[string]authenticationv1.ExtraValue{selection.ExtraKey: value, "example.com/a": {"b"}}
		request{as: forged, method: "GET", path: "/api/v1/namespaces/issued/secrets"}.eventually(t, 200)
		got := request{as: forged, method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
			body: "{}"}.want(t, 201)
		if strings.Contains(got.body, selection.ExtraKey) || !strings.Contains(got.body, "example.com/a") {
			t.Errorf("%s: %s", name, got)
		}
		review := request{as: master, method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews",
			body: `{"spec":{"token":"` + token(forged) + `"}}`}.want(t, 201)
		if strings.Contains(review.body, selection.ExtraKey) || !strings.Contains(review.body, "example.com/a") {
			t.Errorf("%s: %s", name, review)
		}
	}
}

// proxied returns the headers by which a front proxy names a user, its groups, and what it
// selected.
func proxied(user string, groups []string, selected ...string) http.Header {
	h := http.Header{"X-Remote-User": {user}, "X-Remote-Group": groups}
	if len(selected) > 0 {
		h["X-Remote-Extra-"+url.PathEscape("authority.kube-granular.dev/selected")] = selected
	}
	return h
}

// TestFrontProxy checks that a front proxy can pass on a selection, that the server reads it as
// strictly as the header Authority-Selector, and that nobody without the proxy's certificate
// can pass one on.
//
// Attack: a selection by `X-Remote-Extra-` without the certificate of a front proxy
// Answer: 200, dropped
//
// Attack: a front proxy that names another authority than the header, or sends nonsense
// Answer: 400
//
// Attack: impersonating by a front proxy whose user selected a role
// Answer: 403
func TestFrontProxy(t *testing.T) {
	policy(t, on, "proxied", "jane", "admin")
	request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/proxied/secrets"}.eventually(t, 200)
	view, admin := clusterRole("view"), clusterRole("admin")
	delegation := `{"authorityReference":{"kind":"AuthorityDelegation","name":"d"}}`
	for _, tc := range []struct {
		name     string
		path     string
		told     []string
		groups   []string
		selects  []string
		status   int
		repeated bool
	}{
		{"nothing", "secrets", nil, nil, nil, 200, false},
		{"a role", "pods", []string{view}, nil, nil, 200, false},
		{"a role without the right", "secrets", []string{view}, nil, nil, 403, false},
		{"a master's", "secrets", []string{view}, []string{"system:masters"}, nil, 403, false},
		{"a master", "secrets", nil, []string{"system:masters"}, nil, 200, false},
		{"the same as the header", "pods", []string{view}, nil, []string{view}, 200, true},
		{"another than the header", "pods", []string{view}, nil, []string{admin}, 400, false},
		{"two", "pods", []string{view, view}, nil, nil, 400, false},
		{"nonsense", "pods", []string{"x"}, nil, nil, 400, false},
		{"a delegation", "pods", []string{delegation}, nil, nil, 400, false},
	} {
		r := request{method: "GET", path: "/api/v1/namespaces/proxied/" + tc.path, anonymous: true, cert: &proxy,
			header: proxied("jane", tc.groups, tc.told...), selects: tc.selects}
		if got := r.want(t, tc.status); (got.header[selection.Header] != nil) != tc.repeated {
			t.Errorf("%s: repeats %q", tc.name, got.header[selection.Header])
		}
	}
	// The selection limits the user before impersonation, so that user may not impersonate.
	acting := proxied("jane", []string{"system:masters"}, view)
	acting.Set("Impersonate-User", "joe")
	request{method: "GET", path: "/version", anonymous: true, cert: &proxy, header: acting}.want(t, 403)
	acting = proxied("jane", []string{"system:masters"})
	acting.Set("Impersonate-User", "joe")
	request{method: "GET", path: "/version", anonymous: true, cert: &proxy, header: acting}.want(t, 200)
	// Without the certificate of the proxy, the server ignores these headers.
	request{as: person("jane"), method: "GET", path: "/api/v1/namespaces/proxied/secrets",
		header: proxied("jane", nil, view)}.want(t, 200)
	request{as: person("stranger"), method: "GET", path: "/api/v1/namespaces/proxied/pods",
		header: proxied("jane", nil, view)}.want(t, 403)
}
