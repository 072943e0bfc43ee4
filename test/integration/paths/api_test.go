// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// methods maps the verbs that the verb granular can replace to their HTTP methods.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch}

// path is one way to write: a resource, a subresource and a verb. below, if not empty, is the
// part of a proxy's URL that the server passes on to another server.
type path struct {
	schema.GroupVersionResource
	subresource, below, verb string
	kind                     schema.GroupVersionKind
	namespaced               bool
}

func (p path) String() string {
	return strings.Join([]string{p.verb, p.Group, p.Version, p.resource()}, " ")
}

// resource returns the resource and subresource as a role names them.
func (p path) resource() string {
	out := p.Resource
	if p.subresource != "" {
		out += "/" + p.subresource
	}
	return out + p.below
}

// url returns the URL path for an object.
func (p path) url(namespace, name string) string {
	out := "/apis/" + p.Group + "/" + p.Version
	if p.Group == "" {
		out = "/api/" + p.Version
	}
	if p.namespaced {
		out += "/namespaces/" + namespace
	}
	out += "/" + p.Resource
	if name != "" {
		out += "/" + name
	}
	if p.subresource != "" {
		out += "/" + p.subresource
	}
	return out + p.below
}

// discovered returns the paths that discovery lists.
func (s *server) discovered(t *testing.T) []path {
	t.Helper()
	var groups metav1.APIGroupList
	s.read(t, "/apis", &groups)
	urls := map[schema.GroupVersion]string{{Version: "v1"}: "/api/v1"}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			urls[schema.GroupVersion{Group: group.Name, Version: version.Version}] = "/apis/" + version.GroupVersion
		}
	}
	var out []path
	delete(urls, elsewhere) // no server runs behind this APIService
	for gv, url := range urls {
		var list metav1.APIResourceList
		s.read(t, url, &list)
		for _, r := range list.APIResources {
			for _, verb := range r.Verbs {
				if methods[verb] == "" {
					continue
				}
				resource, subresource, _ := strings.Cut(r.Name, "/")
				kind := schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
				if kind.Version == "" {
					kind = gv.WithKind(r.Kind)
				}
				p := path{GroupVersionResource: gv.WithResource(resource), subresource: subresource, verb: verb,
					kind: kind, namespaced: r.Namespaced}
				out = append(out, p)
				if subresource == "proxy" {
					p.below = "/{path}"
					out = append(out, p)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b path) int { return strings.Compare(a.String(), b.String()) })
	s.paths = out
	return out
}

// published returns the paths in the OpenAPI document, in the format of path.String.
func (s *server) published(t *testing.T) []string {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	s.read(t, "/openapi/v2", &doc)
	var out []string
	for url, operations := range doc.Paths {
		for verb, method := range methods {
			if _, ok := operations[strings.ToLower(method)]; !ok {
				continue
			}
			out = append(out, verb+" "+publishedResource(t, url))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// publishedResource returns the group, version and resource of a URL path such as
// /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale.
func publishedResource(t *testing.T, url string) string {
	t.Helper()
	parts := strings.Split(strings.TrimPrefix(url, "/"), "/")
	group := ""
	if parts[0] == "apis" {
		group, parts = parts[1], parts[1:]
	}
	version, rest := parts[1], parts[2:]
	if len(rest) > 2 && rest[0] == "namespaces" && rest[1] == "{namespace}" {
		rest = rest[2:]
	}
	resource := rest[0]
	switch {
	case len(rest) > 3 && rest[2] == "proxy":
		resource += "/proxy/{path}"
	case len(rest) == 3:
		resource += "/" + rest[2]
	case len(rest) > 3:
		t.Fatalf("the OpenAPI has a path of unknown shape: %s", url)
	}
	return strings.Join([]string{group, version, resource}, " ")
}
