// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/kinds"
)

// TestRecorderForwardsReadsAlone holds which requests the recorder forwards unchanged: only reads
// and reviews of the recorded command. TestSendIsDry holds that writes become dry runs.
func TestRecorderForwardsReadsAlone(t *testing.T) {
	const token = "secret"
	for _, test := range []struct {
		method, path string
		header       map[string]string
		forwarded    bool
		code         int
	}{
		{method: "GET", path: "/secret/api/v1/pods", forwarded: true},
		{method: "GET", path: "/secret/openapi/v3", forwarded: true},
		{method: "HEAD", path: "/secret/api/v1/namespaces/a/pods/b", forwarded: true},
		{method: "POST", path: "/secret/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", forwarded: true},
		// Attack: another process on the machine uses the proxy. Held by: the token.
		{method: "GET", path: "/api/v1/pods", code: http.StatusForbidden},
		{method: "GET", path: "/secre/api/v1/pods", code: http.StatusForbidden},
		{method: "GET", path: "/", code: http.StatusForbidden},
		// Attack: a connection such as exec has effects that no dry run shows. Held by: the
		// recorder refuses connections.
		{method: "GET", path: "/secret/api/v1/namespaces/a/pods/b/exec", code: http.StatusForbidden},
		{method: "GET", path: "/secret/api/v1/namespaces/a/pods/b/portforward", code: http.StatusForbidden},
		{method: "GET", path: "/secret/api/v1/nodes/b/proxy/run", code: http.StatusForbidden},
		{method: "GET", path: "/secret/api/v1/namespaces/a/services/b/proxy", code: http.StatusForbidden},
		{method: "GET", path: "/secret/api/v1/pods", header: map[string]string{"Upgrade": "websocket"},
			code: http.StatusForbidden},
		// Attack: the command acts as somebody else with the credentials of the plugin.
		{method: "GET", path: "/secret/api/v1/pods", header: map[string]string{"Impersonate-User": "root"},
			code: http.StatusForbidden},
		{method: "POST", path: "/secret/logs", code: http.StatusForbidden},
		{method: "DELETE", path: "/secret/healthz", code: http.StatusForbidden},
	} {
		forwarded := ""
		rec := &recorder{token: token, recording: &Recording{},
			forward: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { forwarded = req.URL.Path })}
		req := httptest.NewRequest(test.method, test.path, nil)
		for name, v := range test.header {
			req.Header.Set(name, v)
		}
		answer := httptest.NewRecorder()
		rec.ServeHTTP(answer, req)
		want := ""
		if test.forwarded {
			want, test.code = test.path[len("/secret"):], http.StatusOK
		}
		if forwarded != want || answer.Code != test.code {
			t.Errorf("%s %s %v: forwarded %q, want %q; code %d, want %d", test.method, test.path, test.header, forwarded, want, answer.Code, test.code)
		}
	}
}

// TestSendIsDry holds that Send always sends dryRun=All, whatever the query of the request has for
// dryRun.
func TestSendIsDry(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		got = append(got, fmt.Sprint(req.Method, " ", req.URL.Path, " ", req.URL.Query()["dryRun"]))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Deployment","apiVersion":"apps/v1"}`)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := &kinds.Kind{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}
	for _, r := range []Request{
		{Verb: "create", Kind: k, Namespace: "a", Name: "b"},
		{Verb: "update", Kind: k, Namespace: "a", Name: "b", Query: url.Values{"dryRun": {""}}},
		{Verb: "patch", Kind: k, Namespace: "a", Name: "b", Subresource: "scale", PatchType: types.MergePatchType,
			Query: url.Values{"dryRun": {"None", "x"}}},
		Apply(k, "a", "b", "me", []byte("{}")),
	} {
		if _, err := Send(t.Context(), client, r); err != nil {
			t.Errorf("%s: %v", r.Verb, err)
		}
	}
	if _, err := Send(t.Context(), client, Request{Verb: "delete", Kind: k, Name: "b"}); err == nil {
		t.Error("delete was sent")
	}
	// Attack: an object in a file of somebody else has a name that leads to a proxy, which forwards the request to
	// a program and knows no dry run. Held by: a path has one segment for each name.
	for _, r := range []Request{
		Apply(k, "a", "../services/b/proxy/c", "me", []byte("{}")),
		Apply(k, "../../../../api/v1/namespaces/a/services/b/proxy", "c", "me", []byte("{}")),
		{Verb: "create", Kind: k, Namespace: "../a"},
		{Verb: "update", Kind: k, Namespace: "a", Name: ".."},
		{Verb: "update", Kind: k, Namespace: "a", Name: "b%2Fc"},
		{Verb: "patch", Kind: k, Namespace: "a", Name: "b", Subresource: "../c", PatchType: types.MergePatchType},
	} {
		if _, err := Send(t.Context(), client, r); err == nil {
			t.Errorf("%s of %s was sent", r.Verb, r.String())
		}
		if r.Verb == "create" || r.Subresource != "" {
			continue
		}
		if _, err := (&DryRunner{Client: client}).Stored(t.Context(), r); err == nil {
			t.Errorf("%s was read", r.String())
		}
	}
	want := []string{
		"POST /apis/apps/v1/namespaces/a/deployments [All]",
		"PUT /apis/apps/v1/namespaces/a/deployments/b [All]",
		"PATCH /apis/apps/v1/namespaces/a/deployments/b/scale [All]",
		"PATCH /apis/apps/v1/namespaces/a/deployments/b [All]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParsePath(t *testing.T) {
	for path, want := range map[string]resourcePath{
		"/api/v1/pods": {Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
		"/apis/apps/v1/namespaces/a/deployments/b/scale": {Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Namespace: "a", Name: "b", Subresource: "scale"},
		"/api/v1/namespaces/a": {Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
			Name: "a"},
		"/api/v1/namespaces/a/status": {Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
			Name: "a", Subresource: "status"},
		"/api/v1/namespaces/a/finalize": {Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
			Name: "a", Subresource: "finalize"},
		"/api/v1/namespaces/a/pods/b/proxy/c/d": {Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
			Namespace: "a", Name: "b", Subresource: "proxy/c/d"},
		"/api/v1": {}, "/apis/apps/v1": {}, "/version": {}, "/": {},
	} {
		got, ok := parsePath(path)
		if ok == (want == resourcePath{}) || ok && got != want {
			t.Errorf("%s: %v %t, want %v", path, got, ok, want)
		}
	}
}
