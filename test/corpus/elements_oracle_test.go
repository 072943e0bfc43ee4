// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
)

// elementKind is a kind with containers. Its fields say where they are, without the permission tree.
type elementKind struct {
	gvk gvkschema.GroupVersionKind
	// template leads to the object with the metadata and the containers.
	template []string
	// scopes are the permissions that cover the whole template, general first, and prefix begins the
	// names of those inside.
	scopes []string
	prefix string
}

var elementKinds = []elementKind{
	{gvkschema.GroupVersionKind{Version: "v1", Kind: "Pod"}, nil, nil, ""},
	{gvkschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, []string{"spec", "template"},
		[]string{"specification", "podTemplate"}, "podTemplate"},
	{gvkschema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"},
		[]string{"spec", "jobTemplate", "spec", "template"},
		[]string{"specification", "jobTemplate", "jobTemplateSpecification", "podTemplate"}, "podTemplate"},
}

// lists are the lists of containers, with the permission of one element.
var lists = map[string]string{
	"containers": "container", "initContainers": "initContainer", "ephemeralContainers": "ephemeralContainer"}

// spelled returns the spelling of a parameter in a verb, "" if it is too long.
func spelled(parameter string) string {
	var b strings.Builder
	for _, c := range []byte(parameter) {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+=,~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() > 256 {
		return ""
	}
	return "(" + b.String() + ")"
}

// keyVerbs returns the verbs of one permission for a key: that of the domain, and that of the key.
func keyVerbs(name, key string) []string {
	domain, _, slash := strings.Cut(key, "/")
	exact := key
	if !slash || domain == "" {
		exact = "/" + key
	}
	var out []string
	for _, parameter := range []string{domain, exact} {
		if s := spelled(parameter); s != "" {
			out = append(out, "granular:"+name+s)
		}
	}
	return out
}

func verbsOf(prefix string, names ...string) []string {
	var out []string
	for _, name := range names {
		if prefix != "" {
			name = prefix + strings.ToUpper(name[:1]) + name[1:]
		}
		out = append(out, "granular:"+name)
	}
	return out
}

// need is a set of verbs of which one suffices, or several of which each is needed.
type need struct {
	path  string
	oneOf []string
	// together has sets of which all members are needed.
	together [][]string
}

func (n need) heldBy(grants []string) bool {
	holds := func(v string) bool { return slices.Contains(grants, v) }
	return slices.ContainsFunc(n.oneOf, holds) || slices.ContainsFunc(n.together, func(all []string) bool {
		return !slices.ContainsFunc(all, func(v string) bool { return !holds(v) })
	})
}

// needs returns what a caller needs who turns one object into another: for each changed leaf the verbs.
func (k elementKind) needs(old, new corpus.Object) []need {
	var out []need
	out = append(out, metadataNeeds(nil, "", lookup(old, "metadata"), lookup(new, "metadata"))...)
	whole := verbsOf("", k.scopes...)
	part := func(o corpus.Object, field string) map[string]any {
		return lookup(o, append(slices.Clone(k.template), field)...)
	}
	if k.template != nil {
		out = append(out, metadataNeeds(whole, k.prefix, part(old, "metadata"), part(new, "metadata"))...)
	}
	whole = append(whole, verbsOf(k.prefix, "specification")...)
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		out = append(out, k.listNeeds(whole, list, lists[list], part(old, "spec")[list], part(new, "spec")[list])...)
	}
	return out
}

func (k elementKind) listNeeds(whole []string, list, element string, old, new any) []need {
	before, okOld := byName(old)
	after, okNew := byName(new)
	if reflect.DeepEqual(old, new) {
		return nil
	}
	if !okOld || !okNew {
		return []need{{path: list, oneOf: whole}}
	}
	var out []need
	all := slices.Sorted(maps.Keys(before.elements))
	for _, name := range after.order {
		if _, has := before.elements[name]; !has {
			all = append(all, name)
		}
	}
	for _, name := range all {
		a, b := before.elements[name], after.elements[name]
		one := func(inside string) []string {
			if s := spelled(name); s != "" {
				return []string{verbsOf(k.prefix, element+inside)[0] + s}
			}
			return nil
		}
		if (a == nil) != (b == nil) {
			out = append(out, need{path: list + " " + name, oneOf: slices.Concat(whole, one(""))})
		}
		for _, field := range []string{"image", "resources", "command", "env", "tty"} {
			if reflect.DeepEqual(a[field], b[field]) {
				continue
			}
			n := need{path: list + " " + name + " " + field, oneOf: slices.Concat(whole, one(""))}
			switch {
			case field == "image":
				n.oneOf = slices.Concat(n.oneOf, verbsOf(k.prefix, "image"), one("Image"))
				n.together = imageNeeds(verbsOf(k.prefix, "imageFrom")[0], a, b)
			case field == "resources" && list != "ephemeralContainers":
				n.oneOf = slices.Concat(n.oneOf, verbsOf(k.prefix, "resources"), one("Resources"))
			}
			out = append(out, n)
		}
	}
	kept := func(l byNames, other byNames) []string {
		return slices.DeleteFunc(slices.Clone(l.order), func(n string) bool { return other.elements[n] == nil })
	}
	if !slices.Equal(kept(before, after), kept(after, before)) {
		out = append(out, need{path: list + " order", oneOf: whole})
	}
	return out
}

// imageNeeds returns the sets of verbs for the registry of the images before and after.
func imageNeeds(verb string, a, b map[string]any) [][]string {
	prefixes := func(image any) []string {
		text, _ := image.(string)
		repository, _, _ := strings.Cut(text, ":")
		registry, _, qualified := strings.Cut(repository, "/")
		if !qualified {
			return nil
		}
		return []string{registry, repository}
	}
	sides := []map[string]any{}
	for _, side := range []map[string]any{a, b} {
		if side != nil {
			sides = append(sides, side)
		}
	}
	out := [][]string{{}}
	for _, side := range sides {
		var next [][]string
		for _, prefix := range prefixes(side["image"]) {
			for _, set := range out {
				next = append(next, append(slices.Clone(set), verb+"("+prefix+")"))
			}
		}
		out = next
	}
	return out
}

type byNames struct {
	elements map[string]map[string]any
	order    []string
}

// byName returns the elements of a list by their names, and false if two have one name.
func byName(list any) (byNames, bool) {
	out := byNames{elements: map[string]map[string]any{}}
	elements, _ := list.([]any)
	for _, e := range elements {
		element := e.(map[string]any)
		name, _ := element["name"].(string)
		if out.elements[name] != nil {
			return out, false
		}
		out.elements[name], out.order = element, append(out.order, name)
	}
	return out, true
}

func metadataNeeds(whole []string, prefix string, old, new map[string]any) []need {
	var out []need
	above := slices.Concat(whole, verbsOf(prefix, "metadata"))
	for _, field := range []string{"labels", "annotations"} {
		a, _ := old[field].(map[string]any)
		b, _ := new[field].(map[string]any)
		for _, key := range oracleKeys {
			if a[key] != b[key] {
				out = append(out, need{path: field + " " + key, oneOf: slices.Concat(above, verbsOf(prefix, field),
					keyVerbs(strings.TrimPrefix(verbsOf(prefix, strings.TrimSuffix(field, "s"))[0], "granular:"), key))})
			}
		}
	}
	a, _ := old["finalizers"].([]any)
	b, _ := new["finalizers"].([]any)
	for _, key := range oracleKeys {
		if slices.Contains(a, any(key)) != slices.Contains(b, any(key)) {
			out = append(out, need{path: "finalizers " + key, oneOf: slices.Concat(above, verbsOf(prefix, "finalizers"),
				keyVerbs(strings.TrimPrefix(verbsOf(prefix, "finalizer")[0], "granular:"), key))})
		}
	}
	return out
}

// lookup returns the object at a path.
func lookup(o map[string]any, path ...string) map[string]any {
	for _, field := range path {
		o, _ = o[field].(map[string]any)
	}
	return o
}

// TestElementsAgainstOracle compares the decision about random changes of containers, labels,
// annotations and finalizers with an oracle that knows no tree: it lists the changed leaves and the
// verbs of each.
func TestElementsAgainstOracle(t *testing.T) {
	const cases = 3_000
	allowed, refused := 0, 0
	walkers := map[string]*change.Walker{}
	for _, k := range elementKinds {
		walkers[k.gvk.Kind] = change.NewWalker(treeOf(t, k.gvk))
	}
	for n := range cases {
		r := objects{rand.New(rand.NewPCG(uint64(n), 91)), elementKinds[n%len(elementKinds)]}
		old := r.object()
		changed := copied(t, old)
		for range 1 + r.IntN(4) {
			if r.IntN(2) == 0 {
				r.changeMetadata(changed)
			} else {
				r.changeContainers(changed)
			}
		}
		needs := r.kind.needs(old, changed)
		s := corpus.Scenario{Name: fmt.Sprint(n), Old: old, New: changed, Grants: r.grants(needs)}
		want := corpus.Allow
		for _, need := range needs {
			if !need.heldBy(s.Grants) {
				want = corpus.Forbidden
			}
		}
		forms := map[string]func(corpus.Object) (any, error){"plain": corpus.Plain, "typed": typed(r.kind.gvk)}
		for form, object := range forms {
			got, err := corpus.Run(&s, walkers[r.kind.gvk.Kind], object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(got.Needs, "would have to be checked") {
				continue
			}
			if got.Decision != want {
				a, _ := json.Marshal(old)
				b, _ := json.Marshal(changed)
				t.Errorf("case %d, %s, %s: %s, want %s: %s %s\ngrants %q\nneeds %+v\nold %s\nnew %s",
					n, r.kind.gvk.Kind, form, got.Decision, want, got.Field, got.Needs, s.Grants, needs, a, b)
				return
			}
			if want == corpus.Allow {
				allowed++
			} else {
				refused++
			}
		}
	}
	if allowed < cases/4 || refused < cases/4 {
		t.Errorf("%d allowed, %d refused: this proves little", allowed, refused)
	}
	t.Logf("%d allowed, %d refused", allowed, refused)
}
