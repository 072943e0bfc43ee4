// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/corpus"
)

// ValueAt returns the value at a path of an object, or nil.
func ValueAt(object any, path ...string) any {
	for _, name := range path {
		fields, _ := object.(map[string]any)
		object = fields[name]
	}
	return object
}

// SetAt sets the value at a path of an object, or deletes it if value is nil.
func SetAt(object map[string]any, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		below, ok := object[name].(map[string]any)
		if !ok {
			if value == nil {
				return
			}
			below = map[string]any{}
			object[name] = below
		}
		object = below
	}
	if value == nil {
		delete(object, path[len(path)-1])
		return
	}
	object[path[len(path)-1]] = value
}

// Metadata returns the metadata of an object.
func Metadata(t *testing.T, object map[string]any) map[string]any {
	t.Helper()
	out, ok := object["metadata"].(map[string]any)
	if !ok {
		t.Fatalf("there is no metadata in %v", object)
	}
	return out
}

// FromYAML parses an object.
func FromYAML(t *testing.T, manifest string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// CreateObject creates an object as the administrator, with a unique name. It returns the path
// of the object and the stored object.
func (s *Server) CreateObject(t *testing.T, manifest string) (path string, live map[string]any) {
	t.Helper()
	object := FromYAML(t, manifest)
	u := unstructured.Unstructured{Object: object}
	u.SetName(fmt.Sprintf("%s-%d", u.GetName(), Unique()))
	if u.GetNamespace() == "" && s.Mapping(t, u.GroupVersionKind()).Scope.Name() == meta.RESTScopeNameNamespace {
		u.SetNamespace("default")
	}
	collection, _ := s.Paths(t, object)
	one := s.post(t, collection, object)
	return one, s.LiveObject(t, one)
}

// CreateIn creates an object with a unique name in a collection and returns its path. Unlike
// CreateObject, it works before discovery knows the kind.
func (s *Server) CreateIn(t *testing.T, collection, manifest string) string {
	t.Helper()
	object := FromYAML(t, manifest)
	Metadata(t, object)["name"] = fmt.Sprintf("%s-%d", Metadata(t, object)["name"], Unique())
	return s.post(t, collection, object)
}

// post creates an object as the administrator and returns its path.
func (s *Server) post(t *testing.T, collection string, object map[string]any) string {
	t.Helper()
	s.MustSend(t, http.MethodPost, collection, ContentTypes["json"], object)
	return collection + "/" + url.PathEscape(Metadata(t, object)["name"].(string))
}

// JSONPatch returns a JSON patch that turns before into after. It sets or removes whole top-level
// fields.
func JSONPatch(before, after corpus.Object) []any {
	out := []any{}
	for name := range corpus.Diff(before, after) {
		if value, kept := after[name]; kept {
			out = append(out, map[string]any{"op": "add", "path": "/" + name, "value": value})
		} else {
			out = append(out, map[string]any{"op": "remove", "path": "/" + name})
		}
	}
	return out
}

// UniqueName joins the parts to a name for an object or a user. The caller must choose parts that
// no other name of the tests consists of.
func UniqueName(parts ...any) string {
	return strings.ToLower(strings.ReplaceAll(strings.Trim(fmt.Sprint(parts...), "-"), " ", "-"))
}
