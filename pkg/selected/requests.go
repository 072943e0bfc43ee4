// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"errors"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// publicPaths are the paths of discovery and health. A selection does not restrict them, nor the
// paths below them, because clients request discovery before anything else, and none of these
// paths reveals an object. They are authorized as without a selection.
var publicPaths = []string{"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"}

// selfReviews are the review resources that answer callers about themselves. A selection does not
// restrict creating them, whatever the selected authority allows. Their answers respect the
// selection.
var selfReviews = map[schema.GroupResource]bool{
	{Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"}: true,
	{Group: authorizationv1.GroupName, Resource: "selfsubjectrulesreviews"}:  true,
	{Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"}:      true,
}

// unrestricted reports whether a request is authorized as if its caller had selected no
// authority.
func unrestricted(a authorizer.Attributes) bool {
	if a.IsResourceRequest() {
		return a.GetVerb() == "create" && a.GetSubresource() == "" && selfReviews[schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}]
	}
	if a.GetVerb() != "get" && a.GetVerb() != "head" {
		return false
	}
	for _, path := range publicPaths {
		if rest, ok := strings.CutPrefix(a.GetPath(), path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

var errCredential = errors.New("no token or certificate can be requested while an authority is selected, because the selection would not restrict its holder")

// checkCredential returns an error if the request asks for a token or a certificate. Such requests
// are refused because the selection would not restrict whoever uses that credential later.
func checkCredential(a authorizer.Attributes) error {
	if !a.IsResourceRequest() {
		return nil
	}
	switch a.GetVerb() {
	case "get", "list", "watch", "delete", "deletecollection":
		return nil
	}
	switch {
	case a.GetAPIGroup() == "" && a.GetResource() == "serviceaccounts" && a.GetSubresource() == "token":
		return errCredential
	case a.GetAPIGroup() == certificatesv1.GroupName && a.GetSubresource() == "" &&
		(a.GetResource() == "certificatesigningrequests" || a.GetResource() == "podcertificaterequests"):
		return errCredential
	}
	return nil
}
