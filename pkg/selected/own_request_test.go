// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/selection"
)

// TestOwnRequest checks which questions to the authorizer are about the request itself: only they are uses of the
// delegation, and only their refusals are recorded. Each case differs in one attribute from a question that is.
func TestOwnRequest(t *testing.T) {
	s := selecting(t, &user.DefaultInfo{Name: "u"}, selection.ClusterRole("x"))
	info := func(verb, name string) *request.RequestInfo {
		return &request.RequestInfo{IsResourceRequest: true, Verb: verb, APIGroup: "apps", Resource: "deployments", Subresource: "scale", Namespace: "n", Name: name}
	}
	asked := func(verb string, change func(*authorizer.AttributesRecord)) authorizer.AttributesRecord {
		a := authorizer.AttributesRecord{User: s, ResourceRequest: true, Verb: verb, APIGroup: "apps", Resource: "deployments", Subresource: "scale", Namespace: "n", Name: "web"}
		if change != nil {
			change(&a)
		}
		return a
	}
	url := &request.RequestInfo{Path: "/healthz", Verb: "get"}
	path := func(path, verb string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: s, Path: path, Verb: verb}
	}
	for name, tc := range map[string]struct {
		info *request.RequestInfo
		a    authorizer.AttributesRecord
		want bool
	}{
		"the request":                       {info("get", "web"), asked("get", nil), true},
		"another verb":                      {info("get", "web"), asked("list", nil), false},
		"a permission of a read":            {info("get", "web"), asked("granular:labels", nil), false},
		"create of a read":                  {info("get", "web"), asked("create", nil), false},
		"update":                            {info("update", "web"), asked("update", nil), true},
		"a permission of an update":         {info("update", "web"), asked("granular:labels", nil), true},
		"a permission of a patch":           {info("patch", "web"), asked("granular:labels", nil), true},
		"a permission of a delete":          {info("delete", "web"), asked("granular:labels", nil), false},
		"an update that creates":            {info("update", "web"), asked("create", nil), true},
		"a patch that creates":              {info("patch", "web"), asked("create", nil), true},
		"a patch that updates":              {info("patch", "web"), asked("update", nil), false},
		"create":                            {info("create", ""), asked("create", nil), true},
		"create of a name":                  {info("create", "web"), asked("create", nil), true},
		"create of another name":            {info("create", "api"), asked("create", nil), false},
		"a permission of a create":          {info("create", ""), asked("granular:labels", nil), true},
		"an update of a create":             {info("create", ""), asked("update", nil), false},
		"a list without a name":             {info("list", ""), asked("list", nil), false},
		"another name":                      {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.Name = "api" }), false},
		"another group":                     {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.APIGroup = "" }), false},
		"another resource":                  {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.Resource = "pods" }), false},
		"another subresource":               {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.Subresource = "" }), false},
		"another namespace":                 {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.Namespace = "m" }), false},
		"a URL":                             {info("update", "web"), asked("update", func(a *authorizer.AttributesRecord) { a.ResourceRequest = false }), false},
		"the request of a URL":              {url, path("/healthz", "get"), true},
		"another URL":                       {url, path("/metrics", "get"), false},
		"another verb of a URL":             {url, path("/healthz", "post"), false},
		"a resource, and the request a URL": {url, asked("get", func(a *authorizer.AttributesRecord) { a.Path = "/healthz" }), false},
	} {
		ctx := request.WithRequestInfo(request.WithUser(t.Context(), s), tc.info)
		if got := isOwnRequest(ctx, s, tc.a); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
		other := request.WithRequestInfo(request.WithUser(t.Context(), &user.DefaultInfo{Name: "u"}), tc.info)
		if isOwnRequest(other, s, tc.a) || isOwnRequest(request.WithUser(t.Context(), s), s, tc.a) || isOwnRequest(t.Context(), s, tc.a) {
			t.Errorf("%s: it is the request of somebody else, or of nobody", name)
		}
	}
}
