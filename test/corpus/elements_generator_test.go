// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/corpus"
)

// The keys, names and images of random objects. Many of them are invalid: the server authorizes a change
// before or after it validates the object.
var (
	oracleKeys = []string{
		"team", "example.com/team", "example.com/tier", "example.com/a/b", "/team", "team/x", "", "/", "//team",
		"a(b)", "a)/(b", "%2F", "Example.com/Team", "é/x", "example.com/é", "example.com/", "*", "example.com/*",
		strings.Repeat("d", 250) + "/key", strings.Repeat("d", 300)}
	oracleNames  = []string{"app", "mesh", "App", "a)b", "", "app/x", "é"}
	oracleImages = []string{"a:1", "a:2", "registry.example/app:1", "registry.example/app:2", "registry.example/other:1"}
)

// objects makes random objects of a kind, and changes them.
type objects struct {
	*rand.Rand
	kind elementKind
}

func (r objects) one(from []string) string { return from[r.IntN(len(from))] }

func (r objects) container() map[string]any {
	return map[string]any{"name": r.one(oracleNames), "image": r.one(oracleImages)}
}

func (r objects) metadata() map[string]any {
	return map[string]any{"labels": map[string]any{}, "annotations": map[string]any{}, "finalizers": []any{}}
}

func (r objects) object() corpus.Object {
	spec := map[string]any{}
	for _, list := range slices.Sorted(maps.Keys(lists)) {
		spec[list] = []any{}
		for range r.IntN(4) {
			spec[list] = add(spec[list].([]any), r.container())
		}
	}
	var out map[string]any = map[string]any{"metadata": r.metadata(), "spec": spec}
	for _, field := range slices.Backward(r.kind.template) {
		out = map[string]any{field: out}
	}
	if r.kind.template != nil {
		out["metadata"] = r.metadata()
	}
	for range 4 {
		r.changeMetadata(out)
	}
	return out
}

// add adds an element with a new name.
func add(list []any, element map[string]any) []any {
	for _, e := range list {
		if e.(map[string]any)["name"] == element["name"] {
			return list
		}
	}
	return append(list, element)
}

func (r objects) changeMetadata(o corpus.Object) {
	m := lookup(o, "metadata")
	if r.IntN(2) == 0 && r.kind.template != nil {
		m = lookup(o, append(slices.Clone(r.kind.template), "metadata")...)
	}
	key := r.one(oracleKeys)
	switch r.IntN(3) {
	case 0:
		m["labels"].(map[string]any)[key] = fmt.Sprint(r.IntN(3))
	case 1:
		if m["annotations"].(map[string]any)[key] != nil {
			delete(m["annotations"].(map[string]any), key)
		} else {
			m["annotations"].(map[string]any)[key] = "x"
		}
	default:
		all := m["finalizers"].([]any)
		if i := slices.Index(all, any(key)); i >= 0 {
			m["finalizers"] = slices.Delete(all, i, i+1)
		} else {
			m["finalizers"] = append(all, key)
		}
	}
}

func (r objects) changeContainers(o corpus.Object) {
	spec := lookup(o, append(slices.Clone(r.kind.template), "spec")...)
	names := slices.Sorted(maps.Keys(lists))
	name := r.one(names)
	list := spec[name].([]any)
	if len(list) == 0 {
		spec[name] = append(list, r.container())
		return
	}
	i := r.IntN(len(list))
	c := list[i].(map[string]any)
	switch r.IntN(9) {
	case 0, 1:
		c["image"] = r.one(oracleImages)
	case 2:
		c["resources"] = map[string]any{"limits": map[string]any{"cpu": fmt.Sprint(1 + r.IntN(3))}}
	case 3:
		c["command"] = []any{fmt.Sprint(r.IntN(3))}
	case 4:
		c["name"] = r.one(oracleNames)
	case 5:
		spec[name] = append(list, r.container())
	case 6:
		spec[name] = slices.Delete(list, i, i+1)
	case 7:
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	default:
		other := r.one(names)
		spec[name] = slices.Delete(list, i, i+1)
		spec[other] = append(spec[other].([]any), c)
	}
}

// grants returns verbs: mostly those that suffice, one of them left out or turned into a neighbour.
func (r objects) grants(needs []need) []string {
	var out []string
	for _, n := range needs {
		if len(n.together) > 0 && r.IntN(2) == 0 {
			out = append(out, n.together[r.IntN(len(n.together))]...)
			continue
		}
		verb := n.oneOf[len(n.oneOf)-1-r.IntN(min(3, len(n.oneOf)))]
		if r.IntN(8) == 0 {
			verb = r.neighbour(verb)
		}
		if r.IntN(10) > 0 {
			out = append(out, verb)
		}
	}
	return out
}

// neighbour returns a verb that looks like another one.
func (r objects) neighbour(verb string) string {
	name, parameter, has := strings.Cut(strings.TrimSuffix(verb, ")"), "(")
	if !has {
		return verb + "()"
	}
	switch r.IntN(8) {
	case 0:
		return name
	case 1:
		return name + "(/" + parameter + ")"
	case 2:
		return name + "(" + strings.TrimPrefix(parameter, "/") + ")"
	case 3:
		return name + "(" + parameter + "/)"
	case 4:
		return name + "(" + strings.ToUpper(parameter) + ")"
	case 5:
		return name + "(" + strings.ReplaceAll(parameter, "/", "%2F") + ")"
	case 6:
		return strings.Replace(name, "ontainer", "nitContainer", 1) + "(" + parameter + ")"
	}
	domain, _, _ := strings.Cut(parameter, "/")
	return name + "(" + domain + ")"
}

func copied(t *testing.T, o corpus.Object) corpus.Object {
	t.Helper()
	data, err := json.Marshal(o)
	var out corpus.Object
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
