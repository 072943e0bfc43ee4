// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// strange is a kind whose labels have Go types that no Kubernetes kind uses for labels.
type strange struct {
	Numbers map[string]int32 `json:"numbers,omitempty"`
	Keys    map[int32]string `json:"keys,omitempty"`
	List    []string         `json:"list,omitempty"`
	Parts   []strangePart    `json:"parts,omitempty"`
	Pools   map[string]parts `json:"pools,omitempty"`
	Known   []knownPart      `json:"known,omitempty"`
}

// knownPart is a list element with two string fields in the permission tree: alias and name.
type knownPart struct {
	Alias    string            `json:"alias,omitempty"`
	Name     string            `json:"name,omitempty"`
	Metadata *partNamed        `json:"metadata,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
}

type parts struct {
	Labels map[string]string `json:"labels,omitempty"`
}

// strangePart is a list element with a field name, a name in its metadata, and a name in another
// field, which is not the name of the element.
type strangePart struct {
	Name     string    `json:"name,omitempty"`
	Other    partNamed `json:"other,omitempty"`
	Metadata partNamed `json:"metadata,omitempty"`
}

type partNamed struct {
	Alias  string            `json:"alias,omitempty"`
	Name   string            `json:"name,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// TestAttributesOfGoTypes shows that labels in a map of strings are compared, and labels of another
// Go type are reported as Unreadable. Elements without keys are matched by their names.
func TestAttributesOfGoTypes(t *testing.T) {
	const labels = `{type: object, x-kubernetes-permission-parameter-source: label-key}`
	const named = `{properties: {name: {type: string}, alias: {type: string}, labels: ` + labels + `}}`
	w := walkerFor(t, `{numbers: `+labels+`, keys: `+labels+`, list: `+labels+`,
		pools: {additionalProperties: {properties: {labels: `+labels+`}}},
		parts: {type: array, items: {properties: {name: {type: string}, other: `+named+`, metadata: `+named+`}}},
		known: {type: array, items: {properties: {alias: {type: string, x-kubernetes-permission-verb: alias}, labels: `+labels+`,
			name: {type: string, x-kubernetes-permission-verb: named}, metadata: `+named+`}}}}`)
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"numbers", `{numbers: {a: 1}}`, `{numbers: {a: 2}}`, []string{"Label .numbers unreadable"}},
		{"keys that are numbers", `{keys: {1: a}}`, `{keys: {1: b}}`, []string{"Label .keys unreadable"}},
		{"a list", `{list: [a]}`, `{list: [b]}`, []string{"Label .list unreadable"}},
		{"a value of a map comes", `{}`, `{pools: {p: {labels: {a: x}}}}`,
			[]string{`Label .pools[p].labels[a] - > "x"`}},
		{"a value of a map goes", `{pools: {p: {labels: {a: x}}}}`, `{}`,
			[]string{`Label .pools[p].labels[a] "x" > -`}},
		{"a value of a map changes", `{pools: {p: {labels: {a: x, b: x, c: x}}}}`, `{pools: {p: {labels: {a: x, b: z, d: x}}}}`,
			[]string{`Label .pools[p].labels[b] "x" > "z"`, `Label .pools[p].labels[c] "x" > -`,
				`Label .pools[p].labels[d] - > "x"`}},
		{"elements of the same names in another order",
			`{parts: [{metadata: {name: a, labels: {l: x}}}, {metadata: {name: b, labels: {l: z}}}]}`,
			`{parts: [{metadata: {name: b, labels: {l: z}}}, {metadata: {name: a, labels: {l: x}}}]}`, []string{}},
		{"elements of the same names of their own in another order",
			`{parts: [{name: a, metadata: {labels: {l: x}}}, {name: b, metadata: {labels: {l: z}}}]}`,
			`{parts: [{name: b, metadata: {labels: {l: z}}}, {name: a, metadata: {labels: {l: x}}}]}`, []string{}},
		{"the name in metadata comes before its own",
			`{parts: [{name: b, metadata: {name: a, labels: {l: x}}}, {name: a, metadata: {name: b, labels: {l: z}}}]}`,
			`{parts: [{name: a, metadata: {name: b, labels: {l: z}}}, {name: b, metadata: {name: a, labels: {l: x}}}]}`, []string{}},
		{"a name elsewhere is not its",
			`{parts: [{other: {name: a}, metadata: {labels: {l: x}}}, {other: {name: b}, metadata: {labels: {l: z}}}]}`,
			`{parts: [{other: {name: b}, metadata: {labels: {l: z}}}, {other: {name: a}, metadata: {labels: {l: x}}}]}`,
			[]string{`Label .parts[*].metadata.labels[l] "x" > "z"`, `Label .parts[*].metadata.labels[l] "z" > "x"`}},
		{"a name that the tree knows, and no metadata",
			`{known: [{alias: x, name: a, labels: {l: x}}, {alias: x, name: b, labels: {l: z}}]}`,
			`{known: [{alias: x, name: b, labels: {l: z}}, {alias: x, name: a, labels: {l: x}}]}`, []string{}},
		{"a name that two have now",
			`{parts: [{name: a, other: {alias: x}, metadata: {labels: {l: x}}}]}`,
			`{parts: [{name: a, other: {alias: y}, metadata: {labels: {l: x}}}, {name: a, other: {alias: z}, metadata: {labels: {l: x}}}]}`,
			[]string{`Label .parts[*].metadata.labels[l] - > "x"`, `Label .parts[*].metadata.labels[l] "x" > -`}},
		{"another text is no name",
			`{parts: [{metadata: {alias: a, labels: {l: x}}}, {metadata: {alias: b, labels: {l: z}}}]}`,
			`{parts: [{metadata: {alias: b, labels: {l: z}}}, {metadata: {alias: a, labels: {l: x}}}]}`,
			[]string{`Label .parts[*].metadata.labels[l] "x" > "z"`, `Label .parts[*].metadata.labels[l] "z" > "x"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(text string) *strange {
				out := &strange{}
				if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			got, err := w.Attributes(both, nil, read(test.old), read(test.new))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, shownAttributes(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnknown shows that Unknown returns one Unreadable attribute for each of the given kinds.
func TestUnknown(t *testing.T) {
	at := Path{{Field: "spec"}, {Field: "raw"}}
	for kinds, want := range map[schema.Attribute][]string{
		0: {}, schema.Label: {"Label .spec.raw unreadable embedded"}, schema.Annotation: {"Annotation .spec.raw unreadable embedded"},
		both: {"Label .spec.raw unreadable embedded", "Annotation .spec.raw unreadable embedded"},
	} {
		if diff := cmp.Diff(want, shownAttributes(Unknown(kinds, at))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kinds, diff)
		}
	}
}

// TestAttributesOfDoubledKeys shows that elements with a unique key are matched by this key, also
// if two other elements of the list share a key.
func TestAttributesOfDoubledKeys(t *testing.T) {
	w := walkerFor(t, `{list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {properties: {
		id: {type: string}, labels: {type: object, x-kubernetes-permission-parameter-source: label-key}}}}}`)
	got, err := w.Attributes(both, nil, plainOf(t, `{list: [{id: a, labels: {a: x}}, {id: b, labels: {b: x}}, {id: b, labels: {b: z}}]}`),
		plainOf(t, `{list: [{id: b, labels: {b: x}}, {id: b, labels: {b: z}}, {id: a, labels: {a: x}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Key == "a" {
			t.Errorf("%s is of an element that only moved", got[i].String())
		}
	}
	if len(got) == 0 {
		t.Error("which of two elements of one key is which can't be told")
	}
}
