// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inlined struct {
	A string `json:"a,omitempty"`
}

type other struct {
	A string `json:"a,omitempty"`
}

// twice has two inlined fields with the same name. It is built by reflection, because linters
// refuse such a declaration.
var twice = reflect.StructOf([]reflect.StructField{
	{Name: "Inlined", Type: reflect.TypeFor[inlined](), Tag: `json:",inline"`},
	{Name: "Other", Type: reflect.TypeFor[other](), Tag: `json:",inline"`},
})

// TestTypesThatDoNotFit checks that a Go type that does not match the schema is refused, because
// everybody could change a field that the walk does not compare.
func TestTypesThatDoNotFit(t *testing.T) {
	const field = `{a: {x-kubernetes-permission-verb: a}}`
	const byValue = `x-kubernetes-permission-verb: a, x-kubernetes-permission-parameterized-by: `
	for _, test := range []struct {
		name, properties string
		object           any
		want             string
	}{
		{"it fits", field, &struct{ inlined }{}, ""},
		{"two fields of one name", field, reflect.New(twice).Interface(), "has two fields with the JSON name a"},
		{"no such field", field, &struct {
			B string `json:"b"`
		}{}, ": .a: the Go type"},
		{"no such field below", `{s: {properties: ` + field + `}}`, &struct {
			S struct {
				B string `json:"b"`
			} `json:"s"`
		}{}, ".s.a: the Go type"},
		{"a map whose keys are not strings", `{m: {additionalProperties: {x-kubernetes-permission-verb: a}}}`, &struct {
			M map[int]string `json:"m"`
		}{}, ".m: the keys of the Go type map[int]string are not strings"},
		{"a map of something else", `{m: {additionalProperties: {properties: ` + field + `}}}`, &struct {
			M map[string]string `json:"m"`
		}{}, ".m[*]"},
		{"a list of something else", `{l: {type: array, items: {properties: ` + field + `}}}`, &struct {
			L []string `json:"l"`
		}{}, ".l[*]"},
		{"no list", `{l: {type: array, items: {properties: ` + field + `}}}`, &struct {
			L string `json:"l"`
		}{}, ".l: "},
		{"no set of scalars", `{l: {type: array, x-kubernetes-list-type: set, items: {type: string, x-kubernetes-permission-verb: a}}}`, &struct {
			L []inlined `json:"l"`
		}{}, ".l: the Go type []change.inlined is not a set of scalars"},
		{"a key that is no scalar", `{l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {x-kubernetes-permission-verb: a, properties: {k: {type: string}}}}}`, &struct {
			L []struct {
				K []string `json:"k"`
			} `json:"l"`
		}{}, "has no scalar key k"},
		{"a value that is no scalar", `{v: {type: string, ` + byValue + `self}}`, &struct {
			V []string `json:"v"`
		}{}, ".v: the Go type []string has no scalar self for a parameter"},
		{"an object instead of a value", `{v: {type: string, ` + byValue + `self}}`, &struct {
			V inlined `json:"v"`
		}{}, ".v: the Go type change.inlined has no scalar self for a parameter"},
		{"a value instead of an object", `{v: {type: object, properties: {k: {type: string}}, ` + byValue + `self.k}}`, &struct {
			V string `json:"v"`
		}{}, ".v: the Go type string has no scalar self.k for a parameter"},
		{"an object without the scalar", `{v: {type: object, properties: {k: {type: string}}, ` + byValue + `self.k}}`, &struct {
			V struct {
				A string   `json:"a"`
				K []string `json:"k"`
			} `json:"v"`
		}{}, "has no scalar self.k for a parameter"},
		{"elements that have no key", `{l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {x-kubernetes-permission-verb: a, properties: {k: {type: string}}}}}`, &struct {
			L []string `json:"l"`
		}{}, "has no scalar key k"},
	} {
		_, err := walkerFor(t, test.properties).Compare(All, test.object, test.object)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// withoutMetadata is a kind without metadata.
type withoutMetadata struct {
	A string `json:"a"`
}

// TestTypeWithoutMetadata checks that a Go type without metadata is compared, unless the schema
// has permissions in the metadata.
func TestTypeWithoutMetadata(t *testing.T) {
	w := walkerFor(t, `{metadata: {type: object}, a: {x-kubernetes-permission-verb: a}}`)
	if got := verbs(compareOrFail(t, w, All, &withoutMetadata{"x"}, &withoutMetadata{"y"})); !cmp.Equal(got, []string{"a .a"}) {
		t.Errorf("got %v", got)
	}
	for name, metadata := range map[string]string{
		"its own":       `{type: object, x-kubernetes-permission-verb: metadata}`,
		"of a field":    `{type: object, properties: {name: {x-kubernetes-permission-verb: name}}}`,
		"of its values": `{type: object, additionalProperties: {x-kubernetes-permission-verb: name}}`,
	} {
		if _, err := walkerFor(t, `{metadata: `+metadata+`, a: {x-kubernetes-permission-verb: a}}`).Compare(All, &withoutMetadata{}, &withoutMetadata{}); err == nil {
			t.Errorf("a type without metadata, which has permissions %s, is compared", name)
		}
	}
}

// unnamed has fields that JSON omits, or shows with their Go names.
type unnamed struct {
	Plain  string
	Hidden string `json:"-"`
	secret string
}

// TestFieldsWithoutNames checks that a field that JSON omits is compared, and that its path has a
// name that no schema can have.
func TestFieldsWithoutNames(t *testing.T) {
	w := walkerFor(t, `{Plain: {x-kubernetes-permission-verb: plain}, Hidden: {x-kubernetes-permission-verb: hidden}}`)
	if _, err := w.Compare(All, &unnamed{}, &unnamed{}); err == nil {
		t.Error("a field that JSON leaves out is the one of its Go name")
	}
	w = walkerFor(t, `{Plain: {x-kubernetes-permission-verb: plain}}`)
	for want, changed := range map[string]*unnamed{
		"plain .Plain": {Plain: "x"}, `- ["(Hidden)"]`: {Hidden: "x"}, `- ["(secret)"]`: {secret: "x"},
	} {
		if got := verbs(compareOrFail(t, w, All, &unnamed{}, changed)); !cmp.Equal(got, []string{want}) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}
