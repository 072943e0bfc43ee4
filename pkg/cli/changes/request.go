// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"fmt"
	"maps"
	"net/url"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/kinds"
)

// Request is a write of one object.
type Request struct {
	// Verb is create, update or patch, the verb that the server checks first.
	Verb string
	Kind *kinds.Kind
	// Subresource is empty for the object itself.
	Subresource string
	Namespace   string
	// Name is empty if the server generates it.
	Name string
	// PatchType is set for patches.
	PatchType types.PatchType
	// Body is JSON, or YAML for server-side apply.
	Body []byte
	// Query has the query parameters.
	Query url.Values
}

// String returns the object of the request for messages, such as
// deployments.apps "web" in namespace "shop".
func (r *Request) String() string {
	out := r.Kind.String()
	if r.Subresource != "" {
		out += "/" + r.Subresource
	}
	if r.Name != "" {
		out += " " + fmt.Sprintf("%q", r.Name)
	}
	if r.Namespace != "" {
		out += fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return out
}

// locate adds the path of the object to a call, or that of its collection if named is false. The call fails
// if a part of the path is not one segment: a name such as ../../services/web/proxy, from a file of somebody
// else, would lead to a request for which no dry run exists.
func (r *Request) locate(call *rest.Request, named bool) *rest.Request {
	resource, prefix := r.Kind.Resource, "apis"
	if resource.Group == "" {
		prefix = "api"
	}
	call = call.AbsPath(prefix, resource.Group, resource.Version).NamespaceIfScoped(r.Namespace, r.Namespace != "").Resource(resource.Resource)
	if !named {
		return call
	}
	if call = call.Name(r.Name); r.Subresource != "" {
		call = call.SubResource(r.Subresource)
	}
	return call
}

// dryRunQuery returns the query parameters for a dry run.
func (r *Request) dryRunQuery() url.Values {
	out := maps.Clone(r.Query)
	if out == nil {
		out = url.Values{}
	}
	out.Set("dryRun", "All")
	return out
}

// Apply returns a request of server-side apply. The request forces conflicts with other field
// managers, because a conflict says nothing about permissions.
func Apply(k *kinds.Kind, namespace, name, manager string, body []byte) Request {
	return Request{
		Verb: "patch", Kind: k, Namespace: namespace, Name: name, PatchType: types.ApplyPatchType, Body: body,
		Query: url.Values{"fieldManager": {manager}, "force": {"true"}},
	}
}
