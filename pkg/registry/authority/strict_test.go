// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestStrict checks that the parameter fieldValidation of writes to the API group is Strict, and that
// no other request changes.
func TestStrict(t *testing.T) {
	for _, tc := range []struct {
		verb, group, query, want string
	}{
		{"create", v1alpha1.GroupName, "", "fieldValidation=Strict"},
		{"update", v1alpha1.GroupName, "fieldValidation=Ignore&fieldValidation=Warn&dryRun=All", "dryRun=All&fieldValidation=Strict"},
		{"patch", v1alpha1.GroupName, "fieldValidation=Ignore", "fieldValidation=Strict"},
		{"patch", "apps", "fieldValidation=Ignore", "fieldValidation=Ignore"},
		{"get", v1alpha1.GroupName, "a=b", "a=b"},
	} {
		got := ""
		handler := Strict(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			got = req.URL.RawQuery
			if req.Method != http.MethodPost || req.URL.Path != "/x" {
				t.Errorf("%s %s: passed on as %s %s", tc.verb, tc.group, req.Method, req.URL)
			}
		}))
		req := httptest.NewRequest(http.MethodPost, "/x?"+tc.query, nil)
		info := &request.RequestInfo{IsResourceRequest: true, Verb: tc.verb, APIGroup: tc.group}
		handler.ServeHTTP(httptest.NewRecorder(), req.WithContext(request.WithRequestInfo(req.Context(), info)))
		if got != tc.want {
			t.Errorf("%s %s ?%s: got %s, want %s", tc.verb, tc.group, tc.query, got, tc.want)
		}
		if req.URL.RawQuery != tc.query {
			t.Errorf("the request itself is changed: %s", req.URL.RawQuery)
		}
	}
}
