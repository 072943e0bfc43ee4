// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// builtinText has the permissions of the built-in kinds, as a kube-granular server publishes them: for each
// definition the paths with permission extensions. A test keeps it up to date.
//
//go:embed builtin.json
var builtinText []byte

// marks are permission extensions by definition and by path inside it, such as .labels[*]. The path of the
// definition itself is "".
type marks map[string]map[string]map[string]any

var builtin = sync.OnceValues(func() (marks, error) {
	var out marks
	return out, json.Unmarshal(builtinText, &out)
})

// withBuiltin returns definitions that a server without permissions publishes, with the permissions that a
// kube-granular server would publish. Custom resources have those by convention. A field that this
// program does not know gets none, so only a permission for what is around it covers it.
func withBuiltin(published map[string]*spec.Schema) (map[string]*spec.Schema, error) {
	known, err := builtin()
	if err != nil {
		return nil, err
	}
	out := maps.Clone(published)
	for name, model := range published {
		paths, own := known[name], false
		if _, own = known[name]; !own {
			if paths = conventional(model); paths == nil {
				continue
			}
		}
		// The schemas of a document refer to each other by name only, so a copy through JSON is complete.
		text, err := json.Marshal(model)
		if err != nil {
			return nil, err
		}
		var marked spec.Schema
		if err := json.Unmarshal(text, &marked); err != nil {
			return nil, err
		}
		for path, extensions := range paths {
			mark(&marked, path, extensions)
		}
		out[name] = &marked
	}
	return out, nil
}

// mark adds extensions to the schema at a path, if there is one. It removes those that are nil.
func mark(s *spec.Schema, path string, extensions map[string]any) {
	switch {
	case path == "":
		for name, value := range extensions {
			if value == nil {
				delete(s.Extensions, name)
				continue
			}
			s.AddExtension(name, value)
		}
	case strings.HasPrefix(path, "[*]"):
		if s.Items != nil && s.Items.Schema != nil {
			mark(s.Items.Schema, path[len("[*]"):], extensions)
		} else if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			mark(s.AdditionalProperties.Schema, path[len("[*]"):], extensions)
		}
	default:
		name, rest := path[1:], ""
		if i := strings.IndexAny(name, ".["); i >= 0 {
			name, rest = name[:i], name[i:]
		}
		if property, ok := s.Properties[name]; ok {
			mark(&property, rest, extensions)
			s.Properties[name] = property
		}
	}
}

// collect adds the permission extensions at and below a schema to out.
func collect(s *spec.Schema, path string, out map[string]map[string]any) {
	for name, value := range s.Extensions {
		if strings.HasPrefix(name, "x-kubernetes-permission-") {
			if out[path] == nil {
				out[path] = map[string]any{}
			}
			out[path][name] = value
		}
	}
	for name, property := range s.Properties {
		collect(&property, path+"."+name, out)
	}
	if s.Items != nil && s.Items.Schema != nil {
		collect(s.Items.Schema, path+"[*]", out)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		collect(s.AdditionalProperties.Schema, path+"[*]", out)
	}
}

// conventional returns the permissions by convention of a custom resource, nil for another definition. The field that
// a scale writes has none, because its path is not published.
func conventional(s *spec.Schema) map[string]map[string]any {
	if s == nil || s.Extensions["x-kubernetes-group-version-kind"] == nil || s.Properties == nil {
		return nil
	}
	out := map[string]map[string]any{}
	for field, name := range map[string]string{"spec": "specification", "status": "status"} {
		if _, ok := s.Properties[field]; ok {
			out["."+field] = map[string]any{schema.ExtVerb: name}
		}
	}
	conditions, ok := s.Properties["status"].Properties["conditions"]
	if !ok {
		return out
	}
	out[".status.conditions"] = map[string]any{schema.ExtVerb: "conditions"}
	keys, _ := conditions.Extensions["x-kubernetes-list-map-keys"].([]any)
	if kind, _ := conditions.Extensions.GetString("x-kubernetes-list-type"); kind != "map" || !slices.Equal(keys, []any{"type"}) ||
		conditions.Items == nil || conditions.Items.Schema == nil {
		return out
	}
	if key := conditions.Items.Schema.Properties["type"]; key.Type.Contains("string") {
		out[".status.conditions[*].type"] = map[string]any{schema.ExtSource: "condition-type"}
		out[".status.conditions[*]"] = map[string]any{schema.ExtVerb: "condition", schema.ExtParameterized: "condition-type"}
	}
	return out
}

// WithDefinition gives a custom resource the permissions that its author declares in a definition, which a server without
// permissions does not store. root is the schema of the served version, and replicas the path of the field that its
// subresource scale writes, or "". If no version declares a permission, silent is set, and the field has the permission
// replicas by convention.
func (k *Kind) WithDefinition(root *spec.Schema, replicas string, silent bool) error {
	declared := map[string]map[string]any{}
	collect(root, "", declared)
	if silent && replicas != "" {
		declared = map[string]map[string]any{replicas: {schema.ExtVerb: "replicas"}}
	} else if len(declared) == 0 && silent {
		return nil
	}
	published, ok := k.definitions[k.Tree.Name]
	if !ok {
		return fmt.Errorf("%s: the server publishes no schema", k)
	}
	text, err := json.Marshal(published)
	if err != nil {
		return err
	}
	var marked spec.Schema
	if err := json.Unmarshal(text, &marked); err != nil {
		return err
	}
	for path := range conventional(&marked) {
		if !silent {
			without(&marked, path)
		}
	}
	if declared[""][schema.ExtVerb] == "none" {
		delete(declared[""], schema.ExtVerb)
	}
	for path, extensions := range declared {
		mark(&marked, path, extensions)
	}
	definitions := maps.Clone(k.definitions)
	definitions[k.Tree.Name] = &marked
	tree, err := schema.NewModels(definitions, schema.WithExpressions(ServerComputed{})).Compile(k.Tree.Name)
	if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	k.Tree, k.definitions = tree, definitions
	return nil
}

// without removes the permission extensions at a path.
func without(s *spec.Schema, path string) {
	found := map[string]map[string]any{}
	collect(s, "", found)
	nothing := map[string]any{}
	for name := range found[path] {
		nothing[name] = nil
	}
	mark(s, path, nothing)
}

// Custom reports whether the kind is that of a custom resource, or of another server.
func (k *Kind) Custom() (bool, error) {
	known, err := builtin()
	return known[k.Tree.Name] == nil, err
}
