// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/granular/schema"
)

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// builtIn returns the OpenAPI models of all built-in kinds, by name.
func builtIn() map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	}) {
		out[name] = &definition.Schema
	}
	return out
}

// widget returns the schema of the custom resource in test/corpus that declares permissions.
func widget(t *testing.T) *spec.Schema {
	t.Helper()
	data, err := os.ReadFile("../corpus/crds/widgets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema spec.Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &definition); err != nil {
		t.Fatal(err)
	}
	s := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	return &s
}

// TestKinds judges random writes of the objects in test/corpus: each is changed at random, or gets a part of
// another object of its kind.
func TestKinds(t *testing.T) {
	definitions := builtIn()
	scenarios, err := corpus.Load("../corpus")
	if err != nil {
		t.Fatal(err)
	}
	kinds, objects := map[string]*kind{}, map[string][]any{}
	for i := range scenarios {
		s := &scenarios[i]
		if kinds[s.Kind] == nil {
			kinds[s.Kind] = newKind(t, s, definitions)
		}
		for _, o := range []corpus.Object{s.Old, s.New, s.Final} {
			if o != nil && kinds[s.Kind].walker != nil {
				objects[s.Kind] = append(objects[s.Kind], withoutSystem(o))
			}
		}
	}
	var found tally
	for n := 0; found.allowed+found.forbidden < *writes; n++ {
		r := &random{Rand: rand.New(rand.NewPCG(uint64(n), 50))}
		s := scenarios[n%len(scenarios)]
		k, all := kinds[s.Kind], objects[s.Kind]
		if k.walker == nil {
			continue
		}
		old := one(r, all...)
		new := r.edited(old, one(r, all...))
		for range r.IntN(4) {
			new = r.edited(new, one(r, all...))
		}
		if r.chance(8) {
			old = absent{}
		}
		if k.judge(t, &found, r, old, new); t.Failed() {
			t.Fatal(s.Kind)
		}
	}
	for _, k := range kinds {
		if k.walker != nil {
			found.schemas++
		}
	}
	found.report(t)
	if found.schemas < 15 {
		t.Errorf("only %d kinds", found.schemas)
	}
}

// newKind returns the kind of a scenario, or one without a walker if no server has the kind with a schema.
func newKind(t *testing.T, s *corpus.Scenario, definitions map[string]*spec.Schema) *kind {
	t.Helper()
	var root *spec.Schema
	if object, err := scheme.Scheme.New(s.GVK()); err == nil {
		root = definitions[object.(interface{ OpenAPIModelName() string }).OpenAPIModelName()]
	} else if s.GVK().Kind == "Widget" {
		root = widget(t)
		root.Properties["metadata"] = *spec.RefSchema("#/definitions/" + objectMeta)
	}
	if root == nil {
		return &kind{}
	}
	models := map[string]*spec.Schema{"root": root}
	for name, s := range definitions {
		models[name] = s
	}
	tree, err := schema.Compile(models, "root")
	if err != nil {
		t.Fatal(err)
	}
	return &kind{root, newModel(models, root, objectMeta), change.NewWalker(tree)}
}

// unchanged are fields that the server itself writes, or from which it knows the kind.
var unchanged = []string{"apiVersion", "kind", "managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink",
	"deletionTimestamp", "deletionGracePeriodSeconds"}

// withoutSystem returns an object without the fields that the server itself writes.
func withoutSystem(o corpus.Object) any {
	out, metadata := maps.Clone(map[string]any(o)), map[string]any{}
	if m, ok := out["metadata"].(map[string]any); ok {
		metadata = maps.Clone(m)
		out["metadata"] = metadata
	}
	for _, name := range unchanged {
		delete(out, name)
		delete(metadata, name)
	}
	return out
}

// edited returns a copy of a value with one difference. like is another value of the same field.
func (r *random) edited(v, like any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			out[name] = x
		}
		others := slices.DeleteFunc(names(v, like), func(name string) bool { return slices.Contains(unchanged, name) })
		if len(others) == 0 {
			return out
		}
		name := one(r, others...)
		_, nested := out[name].(map[string]any)
		_, list := out[name].([]any)
		switch {
		case (nested || list) && !r.chance(6):
			out[name] = r.edited(out[name], at(like, name))
		case anyKeys(v) && r.chance(2):
			out[one(r, keys...)] = "new"
		case r.chance(2) && !isKey(name):
			delete(out, name)
		case at(like, name) != any(absent{}) && !isKey(name):
			out[name] = at(like, name)
		case !isKey(name):
			out[name] = r.edited(out[name], nil)
		}
		return out
	case []any:
		return r.editedList(v, list(like))
	case string:
		return v + "x"
	case bool:
		return !v
	case int64:
		return v + 1
	case float64:
		return v + 1
	}
	return v
}

// isKey reports whether a field may identify an element of a list.
func isKey(name string) bool {
	return slices.Contains([]string{"name", "type", "containerPort", "port", "protocol", "key", "uid", "ip", "mountPath", "devicePath",
		"topologyKey", "whenUnsatisfiable", "claimRef", "resourceName"}, name)
}

// anyKeys reports whether an object is a map of texts whose keys may be any.
func anyKeys(o map[string]any) bool {
	for name, v := range o {
		if _, text := v.(string); !text || !strings.ContainsAny(name, "/.") && len(name) > 6 {
			return false
		}
	}
	return len(o) > 0 && !slices.ContainsFunc(names(o, nil), isKey)
}

func (r *random) editedList(v, like []any) any {
	out := slices.Clone(v)
	if len(out) == 0 {
		return append(out, like...)
	}
	i := r.IntN(len(out))
	switch r.IntN(5) {
	case 0:
		return slices.Delete(out, i, i+1)
	case 1:
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	case 2:
		out = append(out, renamed(r, out[i]))
	default:
		if _, object := out[i].(map[string]any); object {
			out[i] = r.edited(out[i], one(r, append(slices.Clone(like), nil)...))
		} else {
			out[i] = renamed(r, out[i])
		}
	}
	return out
}

// renamed returns an element of a list with another key.
func renamed(r *random, v any) any {
	data, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(data, &out)
	number := r.IntN(1000)
	switch v := out.(type) {
	case string:
		return v + "-" + strings.Repeat("n", 1+number%9) + string(rune('a'+number%26))
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			x := v[name]
			if text, ok := x.(string); ok && isKey(name) && name != "protocol" {
				v[name] = text + "-" + string(rune('a'+number%26)) + string(rune('a'+number/26%26))
			}
		}
		for name, x := range v {
			if n, ok := x.(float64); ok {
				v[name] = int64(n) + int64(number) + 1
			}
		}
		return v
	}
	return out
}
