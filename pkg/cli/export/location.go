// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"maps"
	"slices"
	"strings"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

// location is where objects have labels and annotations: their own metadata, or that of a template.
type location struct {
	// list is the path of a list of objects with metadata, empty if there is one object.
	list []string
	// object is the path of the object around the metadata, from the root or from an element of the list.
	object []string
	// scope is the innermost scope; see protect.Source.
	scope string
	// resources have the location; empty stands for all.
	resources []protect.Resource
}

// String returns the path of the metadata.
func (l *location) String() string {
	path := ""
	for _, name := range l.list {
		path += "." + name
	}
	if path != "" {
		path += "[*]"
	}
	for _, name := range l.object {
		path += "." + name
	}
	return path + ".metadata"
}

// templates are the pod templates by their path, with the resources that have them.
var templates = map[string][]protect.Resource{
	"spec.template": {{Group: "apps", Resource: "deployments"}, {Group: "apps", Resource: "replicasets"},
		{Group: "apps", Resource: "statefulsets"}, {Group: "apps", Resource: "daemonsets"}, {Resource: "replicationcontrollers"},
		{Group: "batch", Resource: "jobs"}},
	"template":                       {{Resource: "podtemplates"}},
	"spec.jobTemplate.spec.template": {{Group: "batch", Resource: "cronjobs"}},
	// A revision is copied back in a rollback.
	"data.spec.template": {{Group: "apps", Resource: "controllerrevisions"}},
}

// locations returns all locations in objects of built-in kinds, and the metadata of custom resources. A test compares them
// with the schemas.
func locations() []location {
	out := []location{{}}
	claims := func(path string, resources []protect.Resource) location {
		return location{list: append(steps(path), "volumes"), object: []string{"ephemeral", "volumeClaimTemplate"},
			scope: "volumeClaimTemplate", resources: resources}
	}
	out = append(out, claims("spec", []protect.Resource{{Resource: "pods"}}))
	for _, path := range slices.Sorted(maps.Keys(templates)) {
		out = append(out, location{object: steps(path), scope: "podTemplate", resources: templates[path]}, claims(path+".spec", templates[path]))
	}
	return append(out,
		location{object: steps("spec.jobTemplate"), scope: "jobTemplate", resources: []protect.Resource{{Group: "batch", Resource: "cronjobs"}}},
		location{list: steps("spec.volumeClaimTemplates"), scope: "volumeClaimTemplate",
			resources: []protect.Resource{{Group: "apps", Resource: "statefulsets"}}},
		location{object: steps("spec"), scope: "resourceClaimTemplate",
			resources: []protect.Resource{{Group: "resource.k8s.io", Resource: "resourceclaimtemplates"}}})
}

func steps(path string) []string { return strings.Split(path, ".") }

// labels returns the optional map of labels or annotations of an object, or of an element of the list.
func (l *location) labels(object, attributes string) string {
	for _, field := range append(slices.Clone(l.object), "metadata", attributes) {
		object = step(object, field)
	}
	return object
}

// elements returns the CEL expression of a list of pairs: the name of an element, and what value returns for its labels.
func (l *location) elements(object, attributes string, value func(labels string) string) string {
	for _, name := range l.list {
		object = step(object, name)
	}
	name := step("x", "name")
	if len(l.object) == 0 {
		name = step(step("x", "metadata"), "name")
	}
	return "(" + container(object, "[]") + ").map(x, [dyn(" + name + `.orValue("")), dyn(` + value(l.labels("x", attributes)) + ")])"
}

// step returns the optional field of an object or of an optional object.
func step(object, name string) string { return object + ".?" + name }

// filter returns the condition that a resource has the location and an entry applies there.
func (l *location) filter(e *protect.Entry, table *protect.Table, key string) string {
	if strings.HasSuffix(key, "*") {
		key = "" // of all keys
	}
	applies := func(r protect.Resource) bool {
		return e.AppliesTo(table.Targets(r.Canonical(), e.Kind, key, l.scope, l.own()))
	}
	if !l.own() {
		var names []string
		for _, r := range l.resources {
			if l.embedded() || applies(r) {
				names = append(names, resourceName(r))
			}
		}
		return oneOf("variables.resource", names)
	}
	if len(e.Resources) == 0 && len(e.ExcludeResources) == 0 {
		return always
	}
	var names []string
	for _, r := range candidates(e, table) {
		if applies(r) == (len(e.Resources) > 0) {
			names = append(names, resourceName(r))
		}
	}
	if len(e.Resources) > 0 {
		return oneOf("variables.resource", names)
	}
	if len(names) == 0 {
		return always
	}
	return "!(" + oneOf("variables.resource", names) + ")"
}

// embedded reports whether the location is in the content of a revision, of which it is not known where it ends up.
func (l *location) embedded() bool { return slices.Concat(l.list, l.object)[0] == "data" }

func (l *location) own() bool { return len(l.list)+len(l.object) == 0 }

// candidates returns the resources that a filter names, or from which controllers copy to others, with the other names of each.
func candidates(e *protect.Entry, table *protect.Table) []protect.Resource {
	out := slices.Concat(e.Resources, e.ExcludeResources, table.Origins())
	for _, r := range slices.Clone(out) {
		out = append(out, r.Others()...)
	}
	slices.SortFunc(out, func(a, b protect.Resource) int { return strings.Compare(resourceName(a), resourceName(b)) })
	return slices.Compact(out)
}

func resourceName(r protect.Resource) string { return r.Group + "/" + r.Resource }

// oneOf returns the condition that a text is one of some.
func oneOf(text string, all []string) string {
	if len(all) == 0 {
		return never
	}
	var quoted []string
	for _, one := range all {
		quoted = append(quoted, quote(one))
	}
	return text + " in [" + strings.Join(quoted, ", ") + "]"
}

// attributeMap is the name of the map in the metadata.
func attributeMap(kind schema.Attribute) string {
	if kind == schema.Annotation {
		return "annotations"
	}
	return "labels"
}
