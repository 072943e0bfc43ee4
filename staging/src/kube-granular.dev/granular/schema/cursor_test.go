// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// TestKeys checks that a node has the keys of a list, with their defaults, if the elements of the
// list are in the tree, and no keys otherwise.
func TestKeys(t *testing.T) {
	tree, err := compileYAML(t, `
root:
  properties:
    ports: {+list: map, +keys: [port, protocol], items: {properties: {port: {type: integer}, protocol: {type: string, default: TCP}, name: {+verb: name}}}}
    again: {$ref: '#/definitions/Again'}
Again: {+verb: again, +list: map, +keys: [k], items: {$ref: '#/definitions/Again'}}
`)
	if err != nil {
		t.Fatal(err)
	}
	ports, again := tree.Root.Child("ports"), tree.Root.Child("again")
	if want := []schema.Key{{Name: "port"}, {Name: "protocol", Default: "TCP"}}; ports.Kind != schema.ListMap || !cmp.Equal(ports.Keys(), want) {
		t.Errorf("%s with %v", ports.Kind, ports.Keys())
	}
	// This list has its keys as a Go slice, as in the server's own models.
	item := (&spec.Schema{}).SetProperty("name", spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{schema.ExtVerb: "name"}}})
	list := spec.ArrayProperty(item)
	list.AddExtension("x-kubernetes-list-type", "map")
	list.AddExtension("x-kubernetes-list-map-keys", []string{"name"})
	made, err := schema.Compile(map[string]*spec.Schema{"root": (&spec.Schema{}).SetProperty("l", *list)}, "root")
	if err != nil || !cmp.Equal(made.Root.Child("l").Keys(), []schema.Key{{Name: "name"}}) {
		t.Errorf("%v, %v", made, err)
	}
	if again.Kind != schema.Leaf || len(again.Keys()) > 0 {
		t.Errorf("%s with %v", again.Kind, again.Keys())
	}
}

// TestCursor checks what a cursor reports about lists and names, with and without permissions in
// the schema. A malformed list counts as atomic.
func TestCursor(t *testing.T) {
	tree, err := compileYAML(t, `
root:
  properties:
    map: {properties: {field: {type: string}}, additionalProperties: {type: string}}
    object: {properties: {field: {type: string}}}
    ports: {+list: map, +keys: [port, protocol], items: {$ref: '#/definitions/Port'}}
    set: {+list: set, items: {type: string}}
    objects: {+list: set, items: {type: object}}
    atomic: {items: {type: string}}
    malformed: {+list: 5, items: {type: string}}
    keyless: {+list: map, items: {$ref: '#/definitions/Port'}}
Port: {properties: {port: {type: integer}, protocol: {type: string, default: TCP}}}
`)
	if err != nil {
		t.Fatal(err)
	}
	at := tree.Schema()
	for _, test := range []struct {
		of, name   string
		known, key bool
	}{{"map", "field", true, false}, {"map", "other", true, true}, {"object", "field", true, false},
		{"object", "other", false, false}} {
		below := at.Field(test.of)
		if got := below.IsKey(test.name); got != test.key {
			t.Errorf("%s: %s is a key: %v", test.of, test.name, got)
		}
		if got := below.Field(test.name).Known(); got != test.known {
			t.Errorf("%s: %s is known: %v", test.of, test.name, got)
		}
	}
	for of, want := range map[string]struct {
		Kind schema.NodeKind
		Keys []schema.Key
	}{
		"ports": {schema.ListMap, []schema.Key{{Name: "port"}, {Name: "protocol", Default: "TCP"}}},
		"set":   {schema.Set, nil}, "objects": {schema.List, nil}, "atomic": {schema.List, nil},
		"malformed": {schema.List, nil}, "keyless": {schema.List, nil}, "none": {schema.List, nil},
	} {
		kind, keys := at.Field(of).List()
		if kind != want.Kind || !cmp.Equal(keys, want.Keys) {
			t.Errorf("%s is a %s with %v", of, kind, keys)
		}
	}
	if got := at.Field("ports").Elem().Field("protocol"); !got.OnlyDefaults("TCP", false) || got.OnlyDefaults("UDP", false) {
		t.Error("the default of an element's field")
	}
}
