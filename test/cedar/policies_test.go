// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cedar

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
)

// The most parameters of one value, and values of one field, that a policy compares.
const maxValues, maxParameters = 4, 8

// caller is somebody with a role: verbs of single fields, and perhaps the ordinary verb.
type caller struct {
	ordinary bool
	verbs    []string
}

// grants has for each permission of a role, by its name, the parameters that the role has. A verb without
// a parameter is in whole.
type grants struct {
	parameters map[string][]string
	whole      map[string]bool
}

func (c caller) grants() grants {
	g := grants{map[string][]string{}, map[string]bool{}}
	for _, verb := range c.verbs {
		name, parameter, found := strings.Cut(strings.TrimPrefix(verb, "granular:"), "(")
		if found {
			g.parameters[name] = append(g.parameters[name], strings.TrimSuffix(parameter, ")"))
		} else {
			g.whole[name] = true
		}
	}
	return g
}

// held returns the condition under which a role has a permission for a field, or "" if it never does. The
// attributes of the field have the names of the permissions.
func (g grants) held(p *permission) string {
	attribute := fmt.Sprintf("resource.p%d", p.number)
	set := quoted(g.parameters[p.name])
	switch {
	case p.key < 0 && !p.value:
		if g.whole[p.name] {
			return "true"
		}
		return ""
	case g.parameters[p.name] == nil:
		return ""
	case p.key >= 0 && p.prefixes == "":
		return set + ".contains(" + attribute + ")"
	case p.key >= 0 && p.excluded:
		return set + ".contains(" + attribute + ".domain)"
	case p.key >= 0:
		return set + ".containsAny([" + attribute + ".domain, " + attribute + ".exact])"
	}
	all := fmt.Sprintf("resource has p%d", p.number)
	for i := range maxValues {
		all += fmt.Sprintf(" && (!(%s has v%d) || %s.containsAny(%s.v%d))", attribute, i, set, attribute, i)
	}
	return all
}

func quoted(texts []string) string {
	var out []string
	for _, text := range texts {
		out = append(out, fmt.Sprintf("%q", text))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// policies returns the policies of a role for a kind, as text.
func (m *model) policies(c caller) string {
	var b strings.Builder
	g := c.grants()
	if c.ordinary {
		b.WriteString("permit (principal, action == Action::\"update\", resource);\n")
	}
	for _, p := range m.permissions {
		if held := g.held(p); held != "" {
			fmt.Fprintf(&b, "permit (principal, action, resource in Permission::\"%d\") when { %s };\n", p.number, held)
		}
		if p.excluded {
			fmt.Fprintf(&b, "forbid (principal, action, resource in Permission::\"%d\") unless { %s };\n", p.number, m.exception(p, g))
		}
	}
	return b.String()
}

// exception returns the condition under which a caller may change what an exclusion forbids: the role has
// the permission itself, an excluded one around it, or any one inside that has the field.
func (m *model) exception(e *permission, g grants) string {
	out := []string{"false"}
	for _, q := range m.permissions {
		held := g.held(q)
		if held == "" || !(q == e || q.excluded && e.under(q) || q.under(e)) {
			continue
		}
		out = append(out, fmt.Sprintf("(resource in Permission::\"%d\" && %s)", q.number, held))
	}
	return strings.Join(out, " || ")
}

func (p *permission) under(above *permission) bool {
	return p.above != nil && (p.above == above || p.above.under(above))
}

func permissionID(p *permission) types.EntityUID {
	return types.NewEntityUID("Permission", types.String(fmt.Sprint(p.number)))
}

// entities returns the permissions of a kind as a hierarchy.
func (m *model) entities() types.EntityMap {
	out := types.EntityMap{}
	for _, p := range m.permissions {
		e := types.Entity{UID: permissionID(p)}
		if p.above != nil {
			e.Parents = types.NewEntityUIDSet(permissionID(p.above))
		}
		out[e.UID] = e
	}
	return out
}

// entity returns a field that differs as an entity. It returns false if the field has more values than the
// policies compare.
func (f *field) entity() (types.Entity, bool) {
	e := types.Entity{UID: types.NewEntityUID("Field", types.String(f.name))}
	if f.last != nil {
		e.Parents = types.NewEntityUIDSet(permissionID(f.last))
	}
	attributes := types.RecordMap{}
	for p := f.last; p != nil; p = p.above {
		name := types.String(fmt.Sprintf("p%d", p.number))
		switch {
		case p.value:
			record := types.RecordMap{}
			texts := f.values[p].texts
			slices.Sort(texts)
			texts = slices.Compact(texts)
			if len(texts) > maxValues {
				return e, false
			}
			for i, text := range texts {
				var all []types.Value
				for _, parameter := range p.parameters(text) {
					all = append(all, asked(parameter))
				}
				record[types.String(fmt.Sprintf("v%d", i))] = types.NewSet(all...)
			}
			if !f.values[p].unknown {
				attributes[name] = types.NewRecord(record)
			}
		case p.key >= 0 && p.prefixes != "":
			key := f.keys[p.key][p.part]
			domain, _, slash := strings.Cut(key, "/")
			exact := key
			if !slash || domain == "" {
				exact = "/" + key
			}
			attributes[name] = types.NewRecord(types.RecordMap{"domain": asked(domain), "exact": asked(exact)})
		case p.key >= 0:
			attributes[name] = asked(f.keys[p.key][p.part])
		}
	}
	e.Attributes = types.NewRecord(attributes)
	return e, true
}

// parameters returns the parameters that are made from a value. Images are those of the tests: a registry, a
// path and a tag.
func (p *permission) parameters(value string) []string {
	if p.prefixes != "image-repository-prefix" {
		return []string{value}
	}
	repository, _, _ := strings.Cut(value, ":")
	parts := strings.Split(repository, "/")
	if !strings.Contains(parts[0], ".") {
		return nil
	}
	var out []string
	for i := range min(len(parts), maxParameters) {
		out = append(out, strings.Join(parts[:i+1], "/"))
	}
	return out
}

// maxLength is the length of the longest parameter of a verb, as it is written.
const maxLength = 256

// spelled returns a parameter as it is written in a verb.
func spelled(parameter string) string {
	var b strings.Builder
	for _, c := range []byte(parameter) {
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@+=,~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// asked returns a parameter for which the library asks, as Cedar compares it.
func asked(parameter string) types.String {
	if text := spelled(parameter); len(text) <= maxLength {
		return types.String(text)
	}
	return "(" // no verb has this parameter
}

// judge returns whether Cedar allows a caller to make all differences. It returns false for ok if it can't
// be asked.
func (m *model) judge(c caller, fields []*field) (allowed, ok bool, err error) {
	if len(fields) == 0 {
		return true, true, nil
	}
	text := m.policies(c)
	set, err := cedar.NewPolicySetFromBytes("role", []byte(text))
	if err != nil {
		return false, false, fmt.Errorf("%w in %s", err, text)
	}
	hierarchy := m.hierarchy
	if hierarchy == nil {
		hierarchy = m.entities()
		m.hierarchy = hierarchy
	}
	action := types.String("granular")
	if c.ordinary {
		action = "update"
	}
	allowed = true
	for _, f := range fields {
		e, ok := f.entity()
		if !ok {
			return false, false, nil
		}
		hierarchy[e.UID] = e
		decision, why := cedar.Authorize(set, hierarchy, cedar.Request{
			Principal: types.NewEntityUID("Caller", "c"), Action: types.NewEntityUID("Action", action), Resource: e.UID,
		})
		delete(hierarchy, e.UID)
		if len(why.Errors) > 0 {
			return false, false, fmt.Errorf("%v in %s", why.Errors, text)
		}
		allowed = allowed && decision == cedar.Allow
	}
	return allowed, true, nil
}

// verbsFor returns verbs that suffice for a field by one permission.
func (p *permission) verbsFor(f *field) (out []string) {
	verb := "granular:" + p.name
	switch {
	case p.value:
		for _, text := range f.values[p].texts {
			if all := p.parameters(text); len(all) > 0 {
				out = append(out, verb+"("+spelled(all[len(all)/2])+")")
			}
		}
	case p.key >= 0:
		key := f.keys[p.key][p.part]
		domain, _, slash := strings.Cut(key, "/")
		if p.prefixes != "" && (len(f.name)%3 > 0 || p.excluded) {
			key = domain
		} else if p.prefixes != "" && (!slash || domain == "") {
			key = "/" + key
		}
		out = append(out, verb+"("+spelled(key)+")")
	default:
		out = append(out, verb)
	}
	return out
}
