// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/fieldpermission/entry"
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
func newPeople(rbac *access.RBAC, target access.Target, name string) *people {
	p := &people{rbac: rbac, target: target}
	bypass := access.Target{Group: v1alpha1.GroupName, Version: v1alpha1.SchemeGroupVersion.Version, Resource: "fieldpermissions", Name: name}
	p.notHeld = p.add(nil, nil, p.target, "*", "every verb on the resource")
	p.notHeld = p.add(p.notHeld, nil, bypass, "bypass", "bypass on fieldpermissions")
	for _, verb := range ordinaryVerbs {
		p.ordinary = p.add(p.ordinary, p.notHeld, p.target, verb, "")
	}
	return p
}

func targetOf(r schema.GroupVersionResource) access.Target {
	return access.Target{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// templateVersion is the version of all kinds with a pod template.
const templateVersion = "v1"

// addTemplatePeople adds, for entries of pods, the subjects that write the kinds with a pod template: whom no
// exclusion stops, whom one stops, and who holds the verb of an entry there.
func (p *Plan) addTemplatePeople(rbac *access.RBAC, entries *overlay.Entries) {
	for _, name := range p.Templates {
		resource := schema.ParseGroupResource(name)
		people := newPeople(rbac, targetOf(resource.WithVersion(templateVersion)), entries.Source)
		for _, s := range people.notHeld {
			if s.Verb == "*" && !contains(p.NotHeld, s.Subject) {
				s.Note = "every verb on " + name + ", which has a pod template"
				s.Resources = []string{name}
				p.NotHeld = append(p.NotHeld, s)
			}
		}
		for i := range p.Entries {
			e, f := &p.Entries[i], &entries.Fields[i]
			one := &overlay.Entries{Source: entries.Source, Version: entries.Version, Fields: []overlay.Field{*f}}
			if overlay.InForce(resource, nil, one) == nil {
				continue
			}
			holders := people.holders([]string{entry.Verb(overlay.TemplatePermission(f.Permission))})
			e.Holders = appendIn(e.Holders, holders, name)
			if f.Excluded {
				e.Stopped = appendIn(e.Stopped, people.stopped(holders), name)
			}
		}
	}
}

// appendIn adds subjects of another resource than that of the plan. Who has the same verb by the same binding
// on several is there once.
func appendIn(out, subjects []Subject, resource string) []Subject {
	for _, s := range subjects {
		same := slices.IndexFunc(out, func(o Subject) bool {
			return len(o.Resources) > 0 && o.Subject == s.Subject && o.Verb == s.Verb && o.Binding == s.Binding
		})
		if same >= 0 {
			out[same].Resources = append(out[same].Resources, resource)
			continue
		}
		s.Resources = []string{resource}
		out = append(out, s)
	}
	return out
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
	for _, h := range p.rbac.WhoCan(access.Query{Target: target, Verbs: []string{verb}, Wildcards: true}) {
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
