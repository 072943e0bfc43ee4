// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"maps"
	"slices"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"
)

// Pods is the resource whose entries hold in pod templates too.
var Pods = gvkschema.GroupResource{Resource: "pods"}

// revisions have pod templates in a field without a schema, from which the controllers of daemon sets
// and stateful sets make pods.
var revisions = gvkschema.GroupResource{Group: "apps", Resource: "controllerrevisions"}

// TemplateScope is the scope of a pod template, in all kinds with one.
const TemplateScope = "podTemplate"

// templateVersion is the version of all kinds with a pod template, and of pods.
const templateVersion = "v1"

// templates has the built-in resources whose objects contain a pod template, with its path.
// TestPodTemplates of package exclusions compares them with the kinds that a server serves.
var templates = map[gvkschema.GroupResource]Path{
	{Group: "apps", Resource: "deployments"}:  fieldPath("spec", "template"),
	{Group: "apps", Resource: "replicasets"}:  fieldPath("spec", "template"),
	{Group: "apps", Resource: "statefulsets"}: fieldPath("spec", "template"),
	{Group: "apps", Resource: "daemonsets"}:   fieldPath("spec", "template"),
	{Group: "batch", Resource: "jobs"}:        fieldPath("spec", "template"),
	{Group: "batch", Resource: "cronjobs"}:    fieldPath("spec", "jobTemplate", "spec", "template"),
	{Resource: "replicationcontrollers"}:      fieldPath("spec", "template"),
	{Resource: "podtemplates"}:                fieldPath("template"),
}

func fieldPath(names ...string) Path {
	out := make(Path, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}

// Templates returns the built-in resources whose objects contain a pod template, in order.
func Templates() []gvkschema.GroupResource {
	return slices.SortedFunc(maps.Keys(templates), func(a, b gvkschema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
}

// HoldsIn returns the resources, other than pods, in which entries of pods hold: Templates, and the
// history of some of them.
func HoldsIn() []gvkschema.GroupResource { return append(Templates(), revisions) }

// InForce returns the entries that hold for a resource: own, which are those of its FieldPermission, and
// those of pods that hold in its pod template. Each may be nil. If entries of both exclude a field, a
// permission of each is needed. If no entry of pods holds, InForce returns own itself, and if all entries
// are of pods, the result has their source and mode.
func InForce(resource gvkschema.GroupResource, own, pods *Entries) *Entries {
	held := inTemplate(resource, pods)
	switch {
	case held == nil:
		return own
	case own == nil:
		return held
	}
	out := *own
	out.Fields = slices.Clone(own.Fields)
	for _, f := range held.Fields {
		f.Origin = pods
		out.Fields = append(out.Fields, f)
	}
	return &out
}

// inTemplate returns the entries of pods that hold in the pod template of a resource, nil if there are
// none.
func inTemplate(resource gvkschema.GroupResource, pods *Entries) *Entries {
	template, ok := templates[resource]
	if pods == nil || !ok && resource != revisions {
		return nil
	}
	out := *pods
	out.Version, out.Fields = templateVersion, nil
	for _, f := range pods.Fields {
		switch {
		case f.Unread != "":
		case !inTemplates(f.Path):
			continue
		case ok:
			f.Path = slices.Concat(template, f.Path)
		case !f.Excluded:
			continue // nobody can be granted a part of a value without a schema
		default:
			f = revised(f)
		}
		out.Fields = append(out.Fields, f)
	}
	if out.Fields == nil {
		return nil
	}
	return &out
}

// inTemplates reports whether controllers copy a field of pods from pod templates: the specification and
// the finalizers.
func inTemplates(path Path) bool {
	return path.inside(fieldPath("spec")) || path.inside(fieldPath("metadata", "finalizers"))
}

// revised returns an entry of pods as it holds in the data of a ControllerRevision. The step after data is
// the whole path of the entry, so that no entry is inside another.
func revised(f Field) Field {
	f.Named = f.Path[1:]
	if len(f.Named) == 0 {
		f.Named = f.Path
	}
	f.Path = Path{{Name: "data"}, {Name: f.Path.String()}}
	f.Permission = TemplatePermission(f.Permission)
	return f
}

// TemplatePermission returns the name that a permission of pods has in a pod template.
func TemplatePermission(name string) string { return permission.Scoped(TemplateScope, name) }

// WithoutNamed returns the entries without those that are found by name. An object of a Go type can only
// be compared by a tree without these, because the type has no such fields.
func (e *Entries) WithoutNamed() *Entries {
	named := func(f Field) bool { return f.Named != nil }
	if !slices.ContainsFunc(e.Fields, named) {
		return e
	}
	out := *e
	out.Fields = slices.DeleteFunc(slices.Clone(e.Fields), named)
	return &out
}

// NamedIn reports whether a value of decoded JSON has the field of an entry that is found by name: the
// names of the path follow each other at some depth of the value. Upper and lower case are equal, because
// controllers read the value with Go's encoding/json. A null counts as a value. The work grows with the
// size of the value times the length of the path.
func (f *Field) NamedIn(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if leads(f.Named, value) {
			return true
		}
		for _, below := range value {
			if f.NamedIn(below) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, f.NamedIn)
	}
	return false
}

// leads reports whether a path leads to something from a value.
func leads(path Path, value any) bool {
	if len(path) == 0 {
		return true
	}
	step := path[0]
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			if (step.Every || sameName(name, step.Name)) && leads(path[1:], below) {
				return true
			}
		}
	case []any:
		return step.Every && slices.ContainsFunc(value, func(item any) bool { return leads(path[1:], item) })
	}
	return false
}

// sameName reports whether a name is that of a field, or another one for the same field.
func sameName(name, field string) bool {
	return strings.EqualFold(name, field) || strings.EqualFold(name, otherNames[field])
}

// otherNames has the fields of pods that have two names in one version.
var otherNames = map[string]string{"serviceAccount": "serviceAccountName", "serviceAccountName": "serviceAccount"}
