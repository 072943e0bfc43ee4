// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"net/http"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Strict returns a handler that validates the fields of all writes to the API group strictly,
// whatever a client asks for. Without it, a client that does not ask for validation would get a
// delegation without conditions if it wrote spec.Conditions: the server drops unknown fields, and
// field names are case-sensitive.
func Strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, found := request.RequestInfoFrom(req.Context()); found && writesGroup(info) {
			req = withQuery(req, "fieldValidation", metav1.FieldValidationStrict)
		}
		next.ServeHTTP(w, req)
	})
}

func writesGroup(info *request.RequestInfo) bool {
	if !info.IsResourceRequest || info.APIGroup != v1alpha1.GroupName {
		return false
	}
	switch info.Verb {
	case "create", "update", "patch":
		return true
	}
	return false
}

// withQuery returns a copy of a request that has one more parameter in its query.
func withQuery(req *http.Request, name, value string) *http.Request {
	query := req.URL.Query()
	query.Set(name, value)
	changed := new(http.Request)
	*changed = *req
	changed.URL = new(url.URL)
	*changed.URL = *req.URL
	changed.URL.RawQuery = query.Encode()
	return changed
}
