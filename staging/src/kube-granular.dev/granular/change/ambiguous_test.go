// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// TestIntersectAmbiguous shows that an Ambiguous change matches changes below its Extent, and no
// changes beside or above it.
func TestIntersectAmbiguous(t *testing.T) {
	const parts = `{spec: {x-kubernetes-permission-verb: specification, properties: {
		a: {properties: {b: {x-kubernetes-permission-verb: b, properties: {c: {x-kubernetes-permission-verb: c}}}, d: {properties: {e: {x-kubernetes-permission-verb: e}}}}},
		z: {properties: {k: {x-kubernetes-permission-verb: z}}}}}, status: {x-kubernetes-permission-verb: status, properties: {ready: {x-kubernetes-permission-verb: ready}}}}`
	for _, test := range []struct {
		name, old, observed, final string
		want                       []string
	}{
		{"below it", `{spec: {z: {k: 1}}}`, `{spec: {z: [1]}}`, `{spec: {z: {k: 2}}}`, []string{"z .spec.z.k"}},
		{"beside it", `{spec: {z: {k: 1}, a: {b: 1}}, status: {ready: 1}}`,
			`{spec: {z: [1], a: {b: 1}}, status: {ready: 1}}`, `{spec: {z: {k: 1}, a: {b: 2}}, status: {ready: 2}}`,
			nil},
		{"above it", `{spec: {z: {k: 1}}, status: {ready: 1}}`, `{spec: {z: [1]}, status: {ready: 1}}`,
			`{spec: {z: {k: 1}}, status: [1]}`, nil},
		{"presence, and what comes there in any order", `{spec: {x: 1}}`, `{spec: {x: 1, a: {}}}`,
			`{spec: {x: 1, z: [1], a: {b: 1}}}`, []string{"specification .spec *.a", "specification .spec *.z"}},
		{"presence, and something that can't be told apart there", `{spec: {x: 1}, status: {ready: 1}}`,
			`{spec: {x: 1, a: {}}, status: {ready: 1}}`, `{spec: {x: 1, a: {d: [1]}}, status: {ready: 1}}`,
			[]string{"specification .spec *.a", "specification .spec *.a.d"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerFor(t, parts)
			old := plainOf(t, test.old)
			observed := compareOrFail(t, w, All, old, plainOf(t, test.observed))
			final := compareOrFail(t, w, All, old, plainOf(t, test.final))
			if diff := cmp.Diff(test.want, verbs(Intersect(observed, final))); diff != "" {
				t.Errorf("observed %q, final %q (-want +got):\n%s", verbs(observed), verbs(final), diff)
			}
			again, err := w.CompareObserved(All, observed, old, plainOf(t, test.final))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, verbs(Intersect(observed, again))); diff != "" {
				t.Errorf("looked at as observed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestObservedOfARootWithPermission shows that CompareObserved compares all fields if the root
// carries a permission, because a change of the root may be a change of any field.
func TestObservedOfARootWithPermission(t *testing.T) {
	root := &spec.Schema{}
	root.AddExtension(schema.ExtVerb, "everything")
	part := spec.Schema{}
	part.AddExtension(schema.ExtVerb, "part")
	inner := spec.Schema{SchemaProps: spec.SchemaProps{Properties: map[string]spec.Schema{"b": part}}}
	root.Properties = map[string]spec.Schema{"a": inner, "c": inner}
	tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWalker(tree)
	old := plainOf(t, `{a: {b: 1}, c: {b: 1}, x: 1}`)
	for _, observed := range []string{`{a: [1], c: {b: 1}, x: 1}`, `{a: {b: 1}, c: {b: 1}, x: 2}`} {
		for _, final := range []string{`{a: {b: 1}, c: {b: 1, d: 1}, x: 1}`, `{a: {b: 1}, c: [1], x: 1}`, `{a: {b: 1, d: 1}, c: {b: 1}, x: 3}`} {
			seen := compareOrFail(t, w, All, old, plainOf(t, observed))
			want := Intersect(seen, compareOrFail(t, w, All, old, plainOf(t, final)))
			got, err := w.CompareObserved(All, seen, old, plainOf(t, final))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(verbs(want), verbs(Intersect(seen, got))); diff != "" {
				t.Errorf("observed %s, final %s (-all +looked at):\n%s", observed, final, diff)
			}
		}
	}
}

// TestLocateAmbiguous shows that the path of an Ambiguous change names a difference below its
// Extent, and no difference beside it.
func TestLocateAmbiguous(t *testing.T) {
	const parts = `{metadata: {x-kubernetes-permission-verb: metadata},
		basket: {properties: {tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}, lock: {x-kubernetes-permission-verb: lock}}},
		spec: {x-kubernetes-permission-verb: specification, properties: {
		guard: {properties: {level: {x-kubernetes-permission-verb: level}}},
		list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, level: {x-kubernetes-permission-verb: level}}}},
		pools: {additionalProperties: {properties: {level: {x-kubernetes-permission-verb: level}, other: {type: string},
			doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, open: {type: boolean}}}}}}},
		owned: {additionalProperties: {x-kubernetes-permission-verb: owned, properties: {
			doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, open: {type: boolean}}}}}}}}}}`
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"a whole beside another difference", `{spec: {colour: red, guard: {level: 1}}}`,
			`{spec: {colour: blue, guard: [1]}}`, []string{".spec.colour", ".spec.guard", ".spec.guard.level"}},
		{"the object as a whole", ``, `{}`, []string{""}},
		{"a new object with a field in no tree", ``, `{mystery: 1}`, []string{".mystery"}},
		{"a new object of nothing but the server's own", ``, `{apiVersion: v1, kind: a}`, []string{""}},
		{"a field called as the server's own", `{basket: {kind: a}}`, `{basket: {kind: b}}`, []string{".basket.kind"}},
		{"what is the server's own is not named", `{spec: {a: 1}}`,
			`{spec: {a: 1}, metadata: {resourceVersion: "1"}}`, []string{".metadata"}},
		{"a field of the root that is in no tree", `{mystery: {kind: a}}`, `{mystery: {kind: b}}`,
			[]string{".mystery.kind"}},
		{"one of two fields of the root", `{mystery: 1, riddle: 1}`, `{mystery: 1, riddle: 2}`, []string{".riddle"}},
		{"two fields of the root that are in no tree", `{mystery: {kind: a}, riddle: 1}`,
			`{mystery: {kind: b}, riddle: 2}`, []string{".mystery.kind", ".riddle"}},
		{"beside a set that is the same", `{basket: {tags: [a, b], zone: a}}`, `{basket: {tags: [a, b], zone: b}}`,
			[]string{".basket.zone"}},
		{"beside a list that is the same", `{spec: {list: [{name: x}, {name: z}], other: 1}}`,
			`{spec: {list: [{name: x}, {name: z}], other: 2}}`, []string{".spec.other"}},
		{"the order of a set that has no permission", `{basket: {tags: [a, b]}}`, `{basket: {tags: [b, a]}}`,
			[]string{".basket.tags"}},
		{"an element of such a set", `{basket: {tags: [a, b]}}`, `{basket: {tags: [a, c]}}`,
			[]string{`.basket.tags["b"]`}},
		{"beside what is charged by itself", `{spec: {pools: {a: {level: 1, other: x}}}}`,
			`{spec: {pools: {a: {level: 2, other: y}}}}`, []string{".spec.pools[a].other", ".spec.pools[a].level"}},
		{"an element by its key, in the value of a map",
			`{spec: {pools: {a: {doors: [{name: x, open: true}, {name: z, open: true}]}}}}`,
			`{spec: {pools: {a: {doors: [{name: x, open: true}, {name: z, open: false}]}}}}`,
			[]string{`.spec.pools[a].doors[name="z"].open`}},
		{"an element by its key, in the value of a map with a permission",
			`{spec: {owned: {a: {doors: [{name: x, open: true}, {name: z, open: true}]}}}}`,
			`{spec: {owned: {a: {doors: [{name: x, open: true}, {name: z, open: false}]}}}}`,
			[]string{`.spec.owned[a].doors[name="z"].open`}},
		{"the order of elements", `{spec: {list: [{name: x}, {name: z}]}}`,
			`{spec: {list: [{name: z}, {name: x}]}}`, []string{".spec.list"}},
		{"a field of an element", `{spec: {list: [{name: x, other: 1, level: 1}]}}`,
			`{spec: {list: [{name: x, other: 2, level: 2}]}}`,
			[]string{`.spec.list[name="x"].other`, `.spec.list[name="x"].level`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerFor(t, parts)
			var old any
			if o := plainOf(t, test.old); o != nil {
				old = o
			}
			new := plainOf(t, test.new)
			var got []string
			for _, c := range compareOrFail(t, w, All, old, new) {
				got = append(got, w.Locate(c, old, new))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestShownKeys shows that paths show keys in full up to a length, and cut longer keys.
func TestShownKeys(t *testing.T) {
	w := walkerFor(t, `{tags: {x-kubernetes-permission-verb: tags, additionalProperties: {x-kubernetes-permission-verb: tag}}}`)
	full, more := strings.Repeat("k", maxKeyLength), strings.Repeat("k", maxKeyLength+1)
	for key, want := range map[string]string{
		"azAZ09": ".tags[azAZ09]", "-_./": ".tags[-_./]", "a{": `.tags["a{"]`, "a@": `.tags["a@"]`, "a`": ".tags[\"a`\"]", "a[": `.tags["a["]`, "a:": `.tags["a:"]`,
		full: ".tags[" + full + "]", more: `.tags["` + full + `"...]`,
		// A key that is no valid UTF-8 may be cut after any byte.
		full[:100] + strings.Repeat("\x80", 40): `.tags["` + full[:100] + strings.Repeat(`\x80`, 24) + `"...]`,
		" " + full[1:]:                          `.tags[" ` + full[1:] + `"]`, " " + full: `.tags[" ` + full[1:] + `"...]`,
	} {
		c := w.Charge("tags", key)
		if got := c.Path().String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, n := range []int{MaxPathLength - 1, MaxPathLength, MaxPathLength + 1} {
		text := strings.Repeat("p", n)
		want := text
		if n > MaxPathLength {
			want = text[:MaxPathLength-3] + "..."
		}
		if got := Shorten(text, MaxPathLength); got != want {
			t.Errorf("of %d bytes %d are shown", n, len(got))
		}
	}
}
