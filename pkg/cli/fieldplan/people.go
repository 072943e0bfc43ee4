// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"slices"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
)

// ordinaryVerbs are the verbs by which a subject writes the fields that no exclusion closes.
var ordinaryVerbs = [...]string{"update", "patch", "create"}

// people are the subjects that may write one resource, by RBAC.
type people struct {
	rbac    *access.RBAC
	target  access.Target
	notHeld []Subject
	// ordinary are the others that hold an ordinary verb.
	ordinary []Subject
}

// newPeople finds the people of the resource of a FieldPermission. name is that of the object, for which alone a
// role may grant bypass.
func newPeople(rbac *access.RBAC, k *kinds.Kind, name string) *people {
	p := &people{rbac: rbac, target: access.Target{Group: k.Resource.Group, Version: k.Resource.Version, Resource: k.Resource.Resource}}
	bypass := access.Target{Group: v1alpha1.GroupName, Version: v1alpha1.SchemeGroupVersion.Version, Resource: "fieldpermissions", Name: name}
	p.notHeld = p.add(nil, nil, p.target, "*", "every verb on the resource")
	p.notHeld = p.add(p.notHeld, nil, bypass, "bypass", "bypass on fieldpermissions")
	for _, verb := range ordinaryVerbs {
		p.ordinary = p.add(p.ordinary, p.notHeld, p.target, verb, "")
	}
	return p
}

// holders returns the subjects that hold one of some verbs, without those that nothing holds.
func (p *people) holders(verbs []string) (out []Subject) {
	for _, verb := range verbs {
		out = p.add(out, p.notHeld, p.target, verb, "")
	}
	return out
}

// stopped returns the subjects that hold an ordinary verb and are none of some holders.
func (p *people) stopped(holders []Subject) (out []Subject) {
	for _, s := range p.ordinary {
		if !contains(holders, s.Subject) {
			out = append(out, s)
		}
	}
	return out
}

// add adds the subjects that hold a verb on a target, also in one namespace or for one name alone, and are in
// neither list. Who could only grant the verb to itself does not hold it.
func (p *people) add(out, except []Subject, target access.Target, verb, note string) []Subject {
	for _, h := range p.rbac.WhoCan(access.Query{Target: target, Verbs: []string{verb}}) {
		relevant := h.Can || target.Resource != "fieldpermissions"
		if h.Verb != verb && h.Verb != "*" || !relevant || contains(out, h.Subject) || contains(except, h.Subject) {
			continue
		}
		s := Subject{Subject: h.Subject, Verb: h.Verb, Binding: h.Binding, Note: note}
		if h.But != "" {
			s.Note = h.But
		}
		out = append(out, s)
	}
	return out
}

func contains(subjects []Subject, name string) bool {
	return slices.ContainsFunc(subjects, func(s Subject) bool { return s.Subject == name })
}
