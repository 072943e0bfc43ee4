// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"
	"testing"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/hack/permissions/served"
	"kube-granular.dev/hack/permissions/vocabulary"
)

// kind returns a kind whose objects have one field with the given markers. In markers, + stands for
// x-kubernetes-permission-.
func kind(t *testing.T, name, field, markers string) served.Kind {
	t.Helper()
	model := &spec.Schema{}
	text := `{properties: {` + field + `: {type: object, additionalProperties: {type: string}, ` +
		strings.ReplaceAll(markers, "+", "x-kubernetes-permission-") + `}}}`
	if err := yaml.Unmarshal([]byte(text), model); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(map[string]*spec.Schema{name: model}, name)
	if err != nil {
		t.Fatal(err)
	}
	return served.Kind{
		GroupVersionKind: gvk.GroupVersionKind{Group: "g", Version: "v1", Kind: name},
		Resources:        []string{strings.ToLower(name) + "s.g"},
		Tree:             tree,
		Model:            model,
	}
}

func TestMake(t *testing.T) {
	v := &vocabulary.Vocabulary{Permissions: map[string]string{"color": "The color.", "shape": "The shape."}}
	r, err := NewRegistry([]served.Kind{
		kind(t, "Apple", "skin", "+verb: color"),
		kind(t, "Pear", "skin", "+verb: color"),
		kind(t, "Leaf", "skin", "+verb: color"),
		kind(t, "Twig", "form", "+verb: shape, +excluded: true"),
	}, v)
	if err != nil {
		t.Fatal(err)
	}
	page, err := Markdown(r, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `granular:color` | The color. | yes |",
		"| `granular:shape` | The shape. | **no**, excluded |",
		"- `.skin`: Apple.g v1, Leaf.g v1, Pear.g v1",
		"| Twig.g | `twigs.g` |",
		"### Pear.g\n\n| field | covered by, the narrowest first |\n| --- | --- |\n| `.skin` | `granular:color` |\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if _, err := NewRegistry([]served.Kind{kind(t, "Apple", "skin", "+verb: taste")}, v); err == nil {
		t.Error("a permission without a meaning is taken")
	}
	if _, err := NewRegistry([]served.Kind{kind(t, "Apple", "skin", "+verb: color"), kind(t, "Pear", "skin", "+verb: color, +excluded: true")}, v); err == nil {
		t.Error("a permission that is excluded in one kind only is taken")
	}
}

func TestWhere(t *testing.T) {
	tests := map[string]string{
		"v1 Pod":                           "Pod v1",
		"apps/v1 Deployment":               "Deployment.apps v1",
		"a/v1 K,a/v1beta1 K,v1 Pod":        "K.a v1 v1beta1, Pod v1",
		registry.All:                       "every kind",
		"resource.k8s.io/v1 ResourceClaim": "ResourceClaim.resource.k8s.io v1",
	}
	for in, want := range tests {
		if got := kindsText(strings.Split(in, ",")); got != want {
			t.Errorf("%s: got %q, wanted %q", in, got, want)
		}
	}
}

// TestByKind holds the tables of fields, in which a row names the versions of the kind that have
// the field, if not all have it.
func TestByKind(t *testing.T) {
	r := &registry.Registry{
		Kinds: []registry.Kind{{Kind: "g/v1 Pear"}, {Kind: "g/v2 Pear"}, {Kind: "v1 Leaf"}},
		Permissions: []registry.Permission{
			{Name: "label", Parameter: &registry.Parameter{Source: "label-key", Treatment: "slash-delimited-prefix"},
				Places: []registry.Place{{Path: ".metadata.labels[*]", Above: []string{"metadata", "labels"}, Kinds: []string{registry.All}}}},
			{Name: "labels"}, {Name: "metadata"},
			{Name: "core", Scope: "core", Places: []registry.Place{{Path: ".core", Kinds: []string{"g/v2 Pear"}}}},
			{Name: "coreSeeds", Scope: "core",
				Places: []registry.Place{{Path: ".core.seeds", Above: []string{"core"}, Kinds: []string{"g/v2 Pear"}}}},
			{Name: "skin", Places: []registry.Place{{Path: ".skin", Kinds: []string{"g/v1 Pear", "g/v2 Pear"}}}},
			{Name: "skinFrom", Places: []registry.Place{{Path: ".skin", Above: []string{"skin"}, Kinds: []string{"g/v1 Pear", "g/v2 Pear"}}}},
		},
	}
	const want = "### Every kind\n\n| field | covered by, the narrowest first |\n| --- | --- |\n" +
		"| `.metadata.labels[*]` | `granular:label(domain of the label key)`, `granular:labels`, `granular:metadata` |\n" +
		"\n### Pear.g\n\n| field | covered by, the narrowest first |\n| --- | --- |\n" +
		"| `.core`, with [what is in it](#in-the-core), in v2 | `granular:core` |\n" +
		"| `.skin` | `granular:skinFrom`, `granular:skin` |"
	if got := fieldsByKind(r, &vocabulary.Vocabulary{Scopes: map[string]string{"core": "the core"}}); got != want {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

// TestWrap holds that wrap breaks a list into short lines without losing text.
func TestWrap(t *testing.T) {
	var b strings.Builder
	item := "- `.a`: " + strings.Repeat("Kind.group v1, ", 30) + "Last v1"
	wrap(&b, item)
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		if len(line) > maxColumns {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if got := strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n  ", " "); got != item {
		t.Errorf("got %q, wanted %q", got, item)
	}
}
