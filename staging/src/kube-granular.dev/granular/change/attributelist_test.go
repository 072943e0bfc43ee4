// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// labelled returns the labels in a list of arguments of the function claims, sorted: each as
// "name=value", with the name of the element that has the label.
func labelled(list []string) []string {
	var out []string
	for _, one := range list {
		if one = strings.TrimSuffix(one, "!"); strings.Contains(one, "=") {
			out = append(out, one)
		}
	}
	slices.Sort(out)
	return out
}

// ephemeral is like the function claims, but returns a Pod with one ephemeral volume for each
// element.
func ephemeral(list []string) string {
	out := "spec: {containers: [], volumes: ["
	for i, one := range list {
		one, resized := strings.CutSuffix(one, "!")
		name, value, labelled := strings.Cut(one, "=")
		if i > 0 {
			out += ", "
		}
		out += "{name: \"" + name + "\", ephemeral: {volumeClaimTemplate: {metadata: {"
		if labelled {
			out += "labels: {a: " + value + "}"
		}
		out += "}, spec: {"
		if resized {
			out += "volumeName: other"
		}
		out += "}}}}"
	}
	return out + "]}"
}

// looseCase calls Attributes for two random lists. Several elements may have the same name, or no
// name.
func looseCase(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	element := func() string {
		return []string{"", "u", "v", "w"}[r.IntN(4)] + []string{"", "=x", "=z"}[r.IntN(3)] + []string{"", "!"}[r.IntN(2)]
	}
	var old []string
	for range r.IntN(5) {
		old = append(old, element())
	}
	new := slices.Clone(old)
	for range r.IntN(4) {
		switch i := r.IntN(len(new) + 1); {
		case r.IntN(2) == 0 && i < len(new):
			if one, resized := strings.CutSuffix(new[i], "!"); resized {
				new[i] = one
			} else {
				new[i] = one + "!"
			}
		case r.IntN(2) == 0 || i == len(new):
			new = slices.Insert(new, i, element())
		case r.IntN(2) == 0:
			new = slices.Delete(new, i, i+1)
		default:
			r.Shuffle(len(new), func(i, j int) { new[i], new[j] = new[j], new[i] })
		}
	}
	for kind, write := range map[string]func([]string) string{
		"apps/v1/StatefulSet": func(l []string) string { return claims(l...) },
		"/v1/Pod":             ephemeral,
	} {
		w := walkerOf(t, kind)
		got, err := w.Attributes(both, nil, plainOf(t, write(old)), plainOf(t, write(new)))
		if err != nil {
			t.Fatal(err)
		}
		typed, err := w.Attributes(both, nil, typedOf(t, kind, write(old)), typedOf(t, kind, write(new)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shownAttributes(got), shownAttributes(typed)); diff != "" {
			t.Fatalf("seed %d, %s: the Go type differs: %s", seed, kind, diff)
		}
		if len(got) == 0 && !slices.Equal(labelled(old), labelled(new)) {
			t.Fatalf("seed %d, %s: %q became %q, and no label changed", seed, kind, old, new)
		}
		if len(got) > 0 && slices.Equal(old, new) {
			t.Fatalf("seed %d, %s: %q is itself, and %v changed", seed, kind, old, shownAttributes(got))
		}
	}
}

// TestLooseLists shows that Attributes returns at least one attribute if a label was added, removed
// or moved to an element with another name.
func TestLooseLists(t *testing.T) {
	for seed := range uint64(1000) {
		looseCase(t, seed)
	}
}

func FuzzLooseLists(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(looseCase)
}

// TestBystandersOfLists shows that Attributes returns none if a write inserts, removes, moves and
// changes uniquely named elements, and leaves each element that has a label with that label.
func TestBystandersOfLists(t *testing.T) {
	w := walkerOf(t, "apps/v1/StatefulSet")
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 8))
		var old, new []string
		for i := range 5 {
			name := fmt.Sprint("n", i)
			switch r.IntN(3) {
			case 0:
				old, new = append(old, name+"=x"), append(new, name+"=x"+[]string{"", "!"}[r.IntN(2)])
			case 1:
				old = append(old, name)
			default:
				new = append(new, name+"!")
			}
		}
		r.Shuffle(len(new), func(i, j int) { new[i], new[j] = new[j], new[i] })
		got, err := w.Attributes(both, nil, plainOf(t, claims(old...)), plainOf(t, claims(new...)))
		if err != nil || len(got) > 0 {
			t.Fatalf("seed %d: %q became %q: %v, %v", seed, old, new, shownAttributes(got), err)
		}
	}
}

// TestAttributesOfOtherObjects shows that Attributes returns an error for objects for which Compare
// returns an error.
func TestAttributesOfOtherObjects(t *testing.T) {
	w := walkerOf(t, "/v1/Pod")
	for name, pair := range map[string][2]any{
		"another type":     {bigPod(), bigWidget()},
		"the other way":    {bigWidget(), bigPod()},
		"no new object":    {bigPod(), nil},
		"no pointer":       {nil, *bigPod()},
		"no object at all": {nil, 5},
		"without metadata": {nil, &withoutMetadata{}},
	} {
		if got, err := w.Attributes(both, nil, pair[0], pair[1]); err == nil {
			t.Errorf("%s: %v", name, shownAttributes(got))
		}
	}
	if got, err := w.Attributes(0, nil, nil, 5); got != nil || err != nil {
		t.Errorf("of no kind: %v, %v", got, err)
	}
}

// wantedKeys implements Keys: it selects exactly these keys.
type wantedKeys []string

func (w wantedKeys) Wanted(_ schema.Attribute, key string) bool { return slices.Contains(w, key) }

// TestWantedKeys shows that Attributes omits a key that is not wanted, and still returns wanted
// keys below it.
func TestWantedKeys(t *testing.T) {
	const text = `
root:
  properties:
    labels:
      type: object
      x-kubernetes-permission-parameter-source: label-key
      additionalProperties:
        x-kubernetes-permission-verb: example.com/part
        properties:
          labels: {type: object, x-kubernetes-permission-parameter-source: label-key, additionalProperties: {type: string}}
`
	definitions := map[string]*spec.Schema{}
	if err := yaml.Unmarshal([]byte(text), &definitions); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(definitions, "root")
	if err != nil {
		t.Fatal(err)
	}
	new := plainOf(t, `labels: {c: {labels: {a: x, b: x}}}`)
	for _, test := range []struct {
		keys Keys
		want []string
	}{
		{wantedKeys{"b"}, []string{`Label .labels[c].labels[b] - > "x"`}},
		{wantedKeys{"c"}, []string{`Label .labels[c] - > ?`}},
		{wantedKeys{}, []string{}},
		{nil,
			[]string{`Label .labels[c] - > ?`, `Label .labels[c].labels[a] - > "x"`,
				`Label .labels[c].labels[b] - > "x"`}},
	} {
		got, err := NewWalker(tree).Attributes(both, test.keys, nil, new)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, shownAttributes(got)); diff != "" {
			t.Errorf("%v: %s", test.keys, diff)
		}
	}
}
