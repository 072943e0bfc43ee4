// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// many is a kind with list keys, sets and maps of all Go types that an API may use for them.
type many struct {
	Plain   []manyKey                    `json:"plain,omitempty"`
	Omitted []manyOmitted                `json:"omitted,omitempty"`
	Pointer []manyPointer                `json:"pointer,omitempty"`
	Flags   []bool                       `json:"flags,omitempty"`
	Small   []uint32                     `json:"small,omitempty"`
	Numbers []int64                      `json:"numbers,omitempty"`
	Shares  []float64                    `json:"shares,omitempty"`
	Deep    map[string]map[string]int    `json:"deep,omitempty"`
	Texts   map[string]map[string]string `json:"texts,omitempty"`
}

type manyKey struct {
	Name  string `json:"name"`
	Port  int32  `json:"port"`
	Value string `json:"value,omitempty"`
}

type manyOmitted struct {
	Name  string `json:"name,omitempty"`
	Side  string `json:"side,omitempty"`
	Value string `json:"value,omitempty"`
}

type manyPointer struct {
	Name  *string `json:"name,omitempty"`
	Value string  `json:"value,omitempty"`
}

const manySchema = `{
	plain: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, port], items: {properties: {name: {type: string}, port: {type: integer}, value: {x-kubernetes-permission-verb: plain}}}},
	omitted: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, side], items: {properties: {name: {type: string}, side: {type: string, default: left}, value: {x-kubernetes-permission-verb: omitted}}}},
	pointer: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, value: {x-kubernetes-permission-verb: pointer}}}},
	flags: {type: array, x-kubernetes-list-type: set, items: {type: boolean, x-kubernetes-permission-verb: flag}},
	small: {type: array, x-kubernetes-list-type: set, items: {type: integer, x-kubernetes-permission-verb: small}},
	numbers: {type: array, x-kubernetes-list-type: set, items: {type: integer, x-kubernetes-permission-verb: number}},
	shares: {type: array, x-kubernetes-list-type: set, items: {type: number, x-kubernetes-permission-verb: share}},
	deep: {additionalProperties: {additionalProperties: {x-kubernetes-permission-verb: deep}}},
	texts: {additionalProperties: {additionalProperties: {x-kubernetes-permission-verb: text}}}}`

// TestIdentityOfGoTypes shows that an element has the same identity in a Go object and in decoded
// JSON.
func TestIdentityOfGoTypes(t *testing.T) {
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{`{plain: [{name: a, port: 1, value: x}, {name: a, port: 2, value: x}]}`,
			`{plain: [{name: a, port: 2, value: z}, {name: a, port: 1, value: x}]}`,
			[]string{"- .plain", `plain .plain[name="a",port="2"].value`}},
		{`{plain: [{name: "", port: 0, value: x}]}`, `{plain: [{name: "", port: 0, value: z}]}`,
			[]string{`plain .plain[name="",port="0"].value`}},
		{`{omitted: [{name: a, value: x}]}`, `{omitted: [{name: a, side: left, value: x}]}`, []string{"- .omitted"}},
		{`{omitted: [{name: a, value: x}]}`, `{omitted: [{name: a, side: right, value: x}]}`,
			[]string{"- .omitted", `omitted .omitted[name="a",side="left"].value`,
				`omitted .omitted[name="a",side="right"].value`}},
		{`{omitted: [{side: left, value: x}]}`, `{omitted: [{side: left, value: z}]}`,
			[]string{"- .omitted *", `omitted .omitted[name="",side="left"].value`}},
		{`{pointer: [{name: a, value: x}, {name: b, value: x}]}`,
			`{pointer: [{name: b, value: z}, {name: a, value: x}]}`,
			[]string{"- .pointer", `pointer .pointer[name="b"].value`}},
		{`{pointer: [{name: "", value: x}]}`, `{pointer: [{name: "", value: z}]}`,
			[]string{`pointer .pointer[name=""].value`}},
		{`{pointer: [{value: x}]}`, `{pointer: [{value: z}]}`,
			[]string{"- .pointer *", `pointer .pointer[name=""].value`}},
		{`{flags: [true]}`, `{flags: [true, false]}`, []string{`flag .flags["false"]`}},
		{`{small: [1]}`, `{small: [2, 1]}`, []string{`small .small["2"]`}},
		{`{numbers: [-1]}`, `{numbers: [-2, -1]}`, []string{`number .numbers["-2"]`}},
		{`{shares: [1.5]}`, `{shares: [2.5, 1.5]}`, []string{`share .shares["2.5"]`}},
		{`{deep: {a: {x: 1}}}`, `{deep: {a: {x: 1}, b: {x: 1}}}`, []string{"deep .deep[b][x]"}},
		{`{deep: {a: {x: 1}, b: {x: 1}}}`, `{deep: {a: {x: 2}}}`, []string{"deep .deep[a][x]", "deep .deep[b][x]"}},
		{`{deep: {a: {x: 1}}}`, `{deep: {a: {x: 1, z: 0}}}`, []string{"deep .deep[a][z]"}},
		{`{}`, `{deep: {a: {x: 1}}}`, []string{"deep .deep[a][x]"}},
		{`{texts: {a: {x: "1"}}}`, `{texts: {a: {x: "1"}, b: {x: "1"}}}`, []string{"text .texts[b][x]"}},
		{`{texts: {a: {x: "1"}, b: {x: "1"}}}`, `{texts: {a: {x: "1"}}}`, []string{"text .texts[b][x]"}},
		{`{}`, `{texts: {a: {x: "1"}}}`, []string{"text .texts[a][x]"}},
	} {
		w := walkerFor(t, manySchema)
		var objects [2]many
		for i, text := range []string{test.old, test.new} {
			if err := yaml.UnmarshalStrict([]byte(text), &objects[i]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, &objects[0], &objects[1]))); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", test.old, test.new, diff)
		}
		// The same objects as decoded JSON must lead to the same changes.
		if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new)))); diff != "" {
			t.Errorf("plain, %s to %s (-want +got):\n%s", test.old, test.new, diff)
		}
	}
}

// byDefault is a kind whose excluded fields have defaults.
type byDefault struct {
	Limit *int64   `json:"limit,omitempty"`
	Mode  string   `json:"mode,omitempty"`
	Rules []string `json:"rules,omitempty"`
	Box   *box     `json:"box,omitempty"`
	Inner *struct {
		Lock string `json:"lock,omitempty"`
		Rest string `json:"rest,omitempty"`
	} `json:"inner,omitempty"`
}

type box struct {
	Size  int64 `json:"size,omitempty"`
	Count int64 `json:"count,omitempty"`
}

// TestDefaultsOfGoTypes shows that a field with only its default value needs no excluded
// permission, and a field with another value does, for Go types and for decoded JSON.
func TestDefaultsOfGoTypes(t *testing.T) {
	const guard = `x-kubernetes-permission-verb: guard, x-kubernetes-permission-excluded: true`
	w := walkerFor(t, `{
		limit: {type: integer, default: 5, `+guard+`}, mode: {type: string, default: a, `+guard+`},
		rules: {type: array, default: [x], items: {type: string}, `+guard+`},
		box: {default: {size: 0, count: 1}, properties: {size: {type: integer}, count: {type: integer}}, `+guard+`},
		inner: {properties: {lock: {type: string, default: shut, `+guard+`}, rest: {type: string}}}}`)
	for _, test := range []struct {
		name, old, new string
		full, sparse   []string
	}{
		{"all defaults", ``, `{limit: 5, mode: a, rules: [x], box: {count: 1}}`, []string{"- . *"}, nil},
		{"another limit", ``, `{limit: 0, mode: a, rules: [x]}`, []string{"guard .limit"}, []string{"guard .limit"}},
		{"another mode", ``, `{mode: b}`, []string{"guard .mode"}, []string{"guard .mode"}},
		{"other rules", ``, `{rules: [x, z]}`, []string{"guard .rules"}, []string{"guard .rules"}},
		{"another box", ``, `{box: {size: 1, count: 1}}`, []string{"guard .box"}, []string{"guard .box"}},
		{"another count", ``, `{box: {count: 2}}`, []string{"guard .box"}, []string{"guard .box"}},
		{"the limit comes by default", `{mode: a}`, `{mode: a, limit: 5}`, nil, nil},
		{"the limit goes that came by default", `{limit: 5}`, `{}`, nil, nil},
		{"the limit changes", `{limit: 5}`, `{limit: 6}`, []string{"guard .limit"}, []string{"guard .limit"}},
		{"the rules come by default", `{mode: a}`, `{mode: a, rules: [x]}`, nil, nil},
		{"the rules go", `{rules: [z]}`, `{}`, []string{"guard .rules"}, []string{"guard .rules"}},
		{"what only holds a default", ``, `{inner: {lock: shut}}`, []string{"- .inner *"}, nil},
		{"and more", ``, `{inner: {lock: shut, rest: x}}`, []string{"- .inner"}, nil},
		{"and another", ``, `{inner: {lock: open}}`, []string{"guard .inner.lock"}, []string{"guard .inner.lock"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(text string) any {
				if text == "" {
					return (*byDefault)(nil)
				}
				out := &byDefault{}
				if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
					t.Fatal(err)
				}
				return out
			}
			for mode, want := range map[Mode][]string{All: test.full, ExcludedOnly: test.sparse} {
				if diff := cmp.Diff(want, verbs(compareOrFail(t, w, mode, read(test.old), read(test.new)))); diff != "" {
					t.Errorf("mode %d (-want +got):\n%s", mode, diff)
				}
				var old any
				if o := plainOf(t, test.old); o != nil {
					old = o
				}
				if test.name == "all defaults" {
					continue // as JSON, the box lacks its size, and so is not equal to the default
				}
				if diff := cmp.Diff(want, verbs(compareOrFail(t, w, mode, old, plainOf(t, test.new)))); diff != "" {
					t.Errorf("plain, mode %d (-want +got):\n%s", mode, diff)
				}
			}
		})
	}
}

// TestMisshapenWithWhatHoldsIt shows that a value whose type does not match the schema is an
// Ambiguous change. If the object that contains it is added or removed too, no change of that
// object is added.
func TestMisshapenWithWhatHoldsIt(t *testing.T) {
	w := walkerFor(t, `{spec: {x-kubernetes-permission-verb: specification, properties: {inner: {properties: {guard: {properties: {level: {x-kubernetes-permission-verb: level}}}}}}}}`)
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{`{a: 1}`, `{a: 1, spec: {inner: {guard: [1]}}}`, []string{"specification .spec *.inner.guard"}},
		{`{a: 1, spec: {inner: {guard: [1]}}}`, `{a: 1}`, []string{"specification .spec *.inner.guard"}},
		{`{a: 1, spec: {inner: {guard: [1]}}}`, `{a: 1, spec: {inner: {guard: [1]}}}`, nil},
		{`{a: 1, spec: {inner: {guard: [1]}}}`, `{a: 1, spec: {inner: {guard: {level: 1}}}}`,
			[]string{"specification .spec *.inner.guard", "level .spec.inner.guard.level"}},
	} {
		if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, plainOf(t, test.old), plainOf(t, test.new)))); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", test.old, test.new, diff)
		}
	}
}
