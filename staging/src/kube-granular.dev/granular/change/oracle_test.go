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
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// oracle computes the changes without the walk. structured-merge-diff compares the objects, and the
// oracle charges each path in the result to the deepest node on it that carries a permission. It
// ignores the order of elements, and positions in atomic lists.
type oracle struct {
	tree *schema.Tree
	kind typed.ParseableType
}

func newOracle(t testing.TB, definitions map[string]*spec.Schema, tree *schema.Tree) *oracle {
	t.Helper()
	converted, err := schemaconv.ToSchemaFromOpenAPI(definitions, false)
	if err != nil {
		t.Fatal(err)
	}
	parser := &typed.Parser{}
	converted.CopyInto(&parser.Schema)
	return &oracle{tree: tree, kind: parser.Type(tree.Name)}
}

func (o *oracle) compare(t testing.TB, old, new map[string]any) []string {
	t.Helper()
	before, err := o.kind.FromUnstructured(old)
	if err != nil {
		t.Fatal(err)
	}
	after, err := o.kind.FromUnstructured(new)
	if err != nil {
		t.Fatal(err)
	}
	c, err := before.Compare(after)
	if err != nil {
		t.Fatal(err)
	}
	all := c.Added.Union(c.Removed).Union(c.Modified)
	found := map[string]bool{}
	all.Leaves().Iterate(func(p fieldpath.Path) { found[o.charge(p)] = true })
	var out []string
	for s := range found {
		if s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

func (o *oracle) charge(p fieldpath.Path) string {
	n, id := o.tree.Root, ""
	charged, chargedID := n, ""
	for i, e := range p {
		var next *schema.Node
		switch {
		case e.FieldName != nil && n.Kind == schema.Map:
			next, id = n.Elem(), id+fmt.Sprintf("[%q]", *e.FieldName)
		case e.FieldName != nil:
			if n.Ignores(*e.FieldName) {
				return ""
			}
			next, id = n.Child(*e.FieldName), id+fmt.Sprintf(".%q", *e.FieldName)
		case e.Key != nil:
			next, id = n.Elem(), id+"["
			for _, k := range n.Keys() {
				for _, f := range *e.Key {
					if f.Name == k.Name {
						id += fmt.Sprintf("%q", scalarString(f.Value))
					}
				}
			}
			id += "]"
		case e.Value != nil:
			next, id = n.Elem(), id+fmt.Sprintf("[%q]", scalarString(*e.Value))
		}
		if i == 0 {
			chargedID = id
		}
		if next == nil {
			break
		}
		if n = next; n.Carries() {
			charged, chargedID = n, id
		}
	}
	return fmt.Sprintf("%s %p", chargedID, charged)
}

func scalarString(v value.Value) string { return fmt.Sprint(v.Unstructured()) }

// spelled returns the text of a path that the oracle uses.
func spelled(p Path) string {
	var b strings.Builder
	for _, s := range p {
		if s.Field != "" {
			fmt.Fprintf(&b, ".%q", s.Field)
			continue
		}
		b.WriteString("[")
		for _, k := range s.Keys {
			fmt.Fprintf(&b, "%q", k)
		}
		b.WriteString("]")
	}
	return b.String()
}

func shown(s Set) []string {
	var out []string
	for i := range s {
		path, node := s[i].Path(), s[i].Node
		if node.TakesValue() != nil && len(path) > 1 && path[len(path)-1].Field == "" && path[len(path)-1].Keys == nil {
			// For structured-merge-diff an atomic list is one value, so charge the list.
			path = path[:len(path)-1]
			node = path[len(path)-1].Node
		}
		out = append(out, fmt.Sprintf("%s %p", spelled(path), node))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestWalkAgreesWithStructuredMergeDiff(t *testing.T) {
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"apps/v1/Deployment", "/v1/Pod", "/v1/ConfigMap", "example.com/v1/Widget"} {
		t.Run(kind, func(t *testing.T) {
			w := walkerOf(t, kind)
			o := newOracle(t, definitions, w.Tree())
			changed := 0
			for seed := range uint64(600) {
				changed += agree(t, w, o, definitions, seed)
			}
			if changed < 600 {
				t.Errorf("only %d changes in all", changed)
			}
		})
	}
}

func agree(t *testing.T, w *Walker, o *oracle, definitions map[string]*spec.Schema, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	g := testmodels.Generator{IntN: r.IntN, Definitions: definitions}
	root := definitions[w.Tree().Name]
	old := tame(g.Value(root, 9))
	new := tame(g.Change(root, old, 9))
	got := compareOrFail(t, w, All, old, new)
	if diff := cmp.Diff(o.compare(t, old, new), shown(got)); diff != "" {
		t.Fatalf("seed %d (-oracle +walk):\n%s\nold %v\nnew %v", seed, diff, old, new)
	}
	again := compareOrFail(t, w, All, new, old)
	if diff := cmp.Diff(shown(got), shown(again)); diff != "" {
		t.Fatalf("seed %d: the way back differs (-there +back):\n%s", seed, diff)
	}
	// ExcludedOnly must find exactly the excluded changes that All finds.
	var excluded []string
	for _, c := range got {
		if c.Node.ExcludedAt {
			excluded = append(excluded, verbs(Set{c})...)
		}
	}
	if diff := cmp.Diff(excluded, verbs(compareOrFail(t, w, ExcludedOnly, old, new))); diff != "" {
		t.Fatalf("seed %d (-full +sparse):\n%s", seed, diff)
	}
	return len(got)
}

// tame removes parts of an object that the walk and the oracle compare differently: the atomic list
// spec.steps, whose elements the walk compares by position, and empty fields of the object's
// metadata, which count as absent for the walk.
func tame(v any) map[string]any {
	object, _ := v.(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	for k, v := range metadata {
		if empty(v) {
			delete(metadata, k)
		}
	}
	metadata["name"] = "object"
	object["metadata"] = metadata
	object["apiVersion"], object["kind"] = "v1", "K"
	if spec, ok := object["spec"].(map[string]any); ok {
		delete(spec, "steps")
	}
	return object
}

func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return strings.TrimSpace(fmt.Sprint(v)) == ""
}
