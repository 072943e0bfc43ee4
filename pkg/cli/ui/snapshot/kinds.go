// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"strings"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/model"
)

func (m *maker) addKinds(input *Input) error {
	for _, k := range input.Kinds {
		m.addServed(k)
	}
	if input.Builtin {
		if err := m.addBuiltin(); err != nil {
			return err
		}
	}
	for _, d := range input.Definitions {
		if err := m.addDefinition(d); err != nil {
			return err
		}
	}
	return nil
}

// addServed adds a kind that a server publishes.
func (m *maker) addServed(k *kinds.Kind) {
	t := newTarget()
	root, excluded := m.served(k.Root(), t)
	out := model.Kind{
		Group: k.Kind.Group, Version: k.Resource.Version, Kind: k.Kind.Kind, Resource: k.Resource.Resource, ShortNames: k.ShortNames,
		Namespaced: k.Namespaced, Root: root, Excluded: excluded, Rank: rankOf(k.Resource.GroupResource(), excluded),
	}
	out.Group = k.Resource.Group
	for _, part := range k.Parts() {
		p := model.Part{Name: part.Subresource}
		if part.Tree != k.Tree {
			subresource, _ := k.Subresource(part.Subresource)
			p.Kind = subresource.Kind.Kind
			for place := range part.Tree.NodePaths() {
				candidates, excluded := decide.Candidates(place.Node())
				if part.Has(k, place) && len(candidates) > 0 {
					p.Fields = append(p.Fields, model.PartField{Path: place.Pattern(), Cover: m.permissions(candidates, t), Excluded: excluded})
				}
			}
		}
		p.Fields = leaves(p.Fields)
		out.Parts = append(out.Parts, p)
	}
	m.addKind(out, t)
}

// leaves returns the fields that have no other field below. A field above, such as the whole spec of a Scale, is
// not the field of the same path in the resource.
func leaves(all []model.PartField) []model.PartField {
	var out []model.PartField
	for i := range all {
		if !slices.ContainsFunc(all, func(other model.PartField) bool { return strings.HasPrefix(other.Path, all[i].Path+".") }) {
			out = append(out, all[i])
		}
	}
	return out
}

// addKind adds a kind with all but Through.
func (m *maker) addKind(k model.Kind, t *target) {
	var status, own []int
	for i := range k.Parts {
		t.parts = append(t.parts, partOf(&k, k.Parts[i].Name))
		switch {
		case k.Parts[i].Kind != "" || i == 0:
		case k.Parts[i].Name == "status":
			status = append(status, i)
		default:
			own = append(own, i)
		}
	}
	k.Through = map[string][]int{}
	// As kinds.Part.Has says, except for metadata, which no status changes in practice.
	if len(status) > 0 {
		k.Through["status"] = append(status, own...)
	}
	if len(own) > 0 {
		k.Through["spec"] = append([]int{0}, own...)
	}
	m.out.Kinds = append(m.out.Kinds, k)
	m.targets = append(m.targets, *t)
}

// partOf returns a part of a kind in the form that rules are compared with.
func partOf(k *model.Kind, subresource string) access.Target {
	return access.Target{Group: k.Group, Version: k.Version, Resource: k.Resource, Subresource: subresource}
}

func newTarget() *target {
	return &target{plain: map[string]int{}, parameterized: map[string]int{}}
}

// served adds a field and the fields below it, and returns its index, and whether one of them is excluded.
func (m *maker) served(f *kinds.Field, t *target) (index int, excluded bool) {
	text := intern(m.texts, &m.out.Texts, beginning(f.Description))
	out := model.Field{Name: f.Name, Type: f.Type, Text: text, Scope: f.Scope, System: f.System}
	if !f.System {
		out.Excluded = f.Excluded
		out.Own, out.Cover = m.permissions(f.Own, t), m.permissions(f.Cover, t)
	}
	excluded = out.Excluded
	for _, below := range f.Fields() {
		if !below.HasPermissions() && !below.System && f.Path != "" {
			out.Rest = append(out.Rest, below.Name)
			continue
		}
		if below.System && !below.HasPermissions() {
			// The server alone writes it, and all that is below.
			text := intern(m.texts, &m.out.Texts, beginning(below.Description))
			leaf := model.Field{Name: below.Name, Type: below.Type, Text: text, System: true}
			out.Fields = append(out.Fields, intern(m.fields, &m.out.Fields, leaf))
			continue
		}
		i, x := m.served(below, t)
		out.Fields, excluded = append(out.Fields, i), excluded || x
	}
	return intern(m.fields, &m.out.Fields, out), excluded
}

// maxText is the maximum length of a description in characters. kubectl granular explain shows the whole.
const maxText = 240

// beginning returns a description, cut behind a word if it is long.
func beginning(text string) string {
	all := []rune(text)
	if len(all) <= maxText {
		return text
	}
	cut := string(all[:maxText])
	if space := strings.LastIndexByte(cut, ' '); space > 0 {
		cut = cut[:space]
	}
	return cut + " …"
}

// permissions returns the indexes of the verbs of permissions, and adds them to a target.
func (m *maker) permissions(all []*schema.Permission, t *target) []int {
	var out []int
	for _, p := range all {
		out = append(out, m.verb(verbOf(p), t))
	}
	return out
}

// verb returns the index of a verb, and adds it to a target.
func (m *maker) verb(v model.Verb, t *target) int {
	i := intern(m.verbs, &m.out.Verbs, v)
	if v.Parameter == "" {
		t.plain[v.Verb] = i
	} else {
		t.parameterized[v.Stem] = i
	}
	return i
}

func verbOf(p *schema.Permission) model.Verb {
	out := model.Verb{Verb: kinds.VerbOf(p), Excluded: p.Excluded}
	if p.Parameter != nil {
		out.Stem, out.Parameter = split(out.Verb)
	}
	return out
}

// groupResource returns the resource of a kind.
func groupResource(k *model.Kind) kubeschema.GroupResource {
	return kubeschema.GroupResource{Group: k.Group, Resource: k.Resource}
}
