// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// Validate returns an error if an index of the snapshot names nothing. The page does not look.
func (s *Snapshot) Validate() error {
	v := &validator{}
	v.fields(s)
	v.kinds(s)
	v.one("masters", s.About.Masters, len(s.Subjects))
	v.optional("authenticated", s.About.Authenticated, len(s.Subjects))
	v.optional("accounts", s.About.Accounts, len(s.Subjects))
	for i := range s.Subjects {
		v.all("groups of subject", s.Subjects[i].Groups, len(s.Subjects))
	}
	for i := range s.Rules {
		if len(s.Rules[i].Cells)%2 != 0 {
			v.fail("cells of rules", i)
			continue
		}
		for j, index := range s.Rules[i].Cells {
			v.one("cells of rules", index, []int{len(s.Kinds), len(s.Cells)}[j%2])
		}
	}
	for i := range s.Roles {
		v.optional("namespace of role", s.Roles[i].Namespace, len(s.Namespaces))
		v.optional("rules of role", s.Roles[i].Rules, len(s.Rules))
	}
	for i, b := range s.Bindings {
		if len(b) < 3 {
			v.fail("binding", i)
			continue
		}
		v.one("name of binding", b[0], len(s.Names))
		v.optional("namespace of binding", b[1], len(s.Namespaces))
		v.one("role of binding", b[2], len(s.Roles))
		v.all("subjects of binding", b[3:], len(s.Subjects))
	}
	for i := range s.Delegations {
		d := &s.Delegations[i]
		v.optional("namespace of delegation", d.Namespace, len(s.Namespaces))
		v.one("rules of delegation", d.Rules, len(s.Rules))
		v.all("delegates", d.Delegates, len(s.Subjects))
	}
	for i := range s.Protected {
		v.optional("namespace of protected attribute", s.Protected[i].Namespace, len(s.Namespaces))
		v.optional("role of protected attribute", s.Protected[i].Role, len(s.Roles))
	}
	for i := range s.Denials {
		v.optional("kind of denial", s.Denials[i].Kind, len(s.Kinds))
		v.optional("subject of denial", s.Denials[i].Subject, len(s.Subjects))
	}
	return v.err
}

// validator has the first error.
type validator struct{ err error }

func (v *validator) fail(what string, index int) {
	if v.err == nil {
		v.err = fmt.Errorf("snapshot: %s: %d names nothing", what, index)
	}
}

func (v *validator) one(what string, index, length int) {
	if index < 0 || index >= length {
		v.fail(what, index)
	}
}

func (v *validator) optional(what string, index, length int) {
	if index != None {
		v.one(what, index, length)
	}
}

func (v *validator) all(what string, indexes []int, length int) {
	for _, index := range indexes {
		v.one(what, index, length)
	}
}

func (v *validator) fields(s *Snapshot) {
	for i := range s.Fields {
		f := &s.Fields[i]
		v.one("text of field", f.Text, len(s.Texts))
		v.all("own verbs of field", f.Own, len(s.Verbs))
		v.all("cover of field", f.Cover, len(s.Verbs))
		// A field stands after those below it, so the tree has no circle.
		v.all("fields of field", f.Fields, i)
	}
}

func (v *validator) kinds(s *Snapshot) {
	for i := range s.Kinds {
		k := &s.Kinds[i]
		v.one("root of kind", k.Root, len(s.Fields))
		v.all("protected of kind", k.Protected, len(s.Protected))
		v.all("delegations of kind", k.Delegations, len(s.Delegations))
		v.one("parts of kind", 0, len(k.Parts))
		for _, parts := range k.Through {
			v.all("parts of path", parts, len(k.Parts))
		}
		for j := range k.Parts {
			for _, f := range k.Parts[j].Fields {
				v.all("cover of field", f.Cover, len(s.Verbs))
			}
		}
	}
	for i := range s.Cells {
		for _, h := range s.Cells[i] {
			v.all("verbs of cell", h.Verbs, len(s.Verbs))
			v.all("verbs of cell", h.Some, len(s.Verbs))
			v.all("protected of cell", h.Protected, len(s.Protected))
		}
	}
}
