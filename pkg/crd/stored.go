// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// warnLost calls f with a warning for each field that a version had in oldCRD and does not have in
// newCRD, if objects may be stored in that version. The server does not show such a field any more,
// and the next write erases it.
func warnLost(newCRD, oldCRD *apiextensions.CustomResourceDefinition, f func(warning)) {
	current := map[string]*crdVersion{}
	for _, v := range versionsOf(newCRD) {
		current[v.name] = v
	}
	for _, old := range versionsOf(oldCRD) {
		v := current[old.name]
		if v == nil || !slices.Contains(oldCRD.Status.StoredVersions, old.name) && storageVersion(oldCRD) != old.name {
			continue
		}
		lost := map[string]bool{}
		eachLost(old.full, v.full, "", func(path string) { lost[path] = true })
		for _, path := range slices.Sorted(maps.Keys(lost)) {
			f(warning{id: "lost " + old.name + path, path: v.path,
				text: fmt.Sprintf("version %s has no field %s any more, but stored objects may have it; a caller without update can't write such an object before a holder of update has rewritten it, "+
					"which erases the field: kubectl granular stored %s.%s lists these objects", old.name, path, newCRD.Spec.Names.Plural,
					newCRD.Spec.Group)})
		}
	}
}

// eachLost calls f for the topmost fields that a schema has and that the other one would prune.
func eachLost(old, new *apiextensions.JSONSchemaProps, path string, f func(path string)) {
	if old == nil || new == nil || old == new {
		return
	}
	for name := range old.Properties {
		if path == "" && slices.Contains(replaced, name) {
			continue
		}
		below := property(new, name)
		if below == nil {
			below = values(new)
		}
		switch {
		case below != nil:
			eachLost(property(old, name), below, path+"."+name, f)
		case !preservesUnknown(new) && !allowsAdditional(new):
			f(path + "." + name)
		}
	}
	if values(old) != nil && values(new) == nil && !preservesUnknown(new) && !allowsAdditional(new) {
		f(path + "[*]")
	}
	eachLost(values(old), values(new), path+"[*]", f)
	eachLost(items(old), items(new), path+"[*]", f)
}

// warnNames calls f with a warning for each field for which a version names another permission than
// the version in which objects are stored. A granular write through that version needs both.
func warnNames(crd *apiextensions.CustomResourceDefinition, f func(warning)) {
	versions := versionsOf(crd)
	index := slices.IndexFunc(versions, func(v *crdVersion) bool { return v.name == storageVersion(crd) })
	if index < 0 {
		return
	}
	stored := versions[index]
	webhook := crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensions.WebhookConverter
	names := map[string]bool{}
	visit(stored.schema, nil, func(s *apiextensions.JSONSchemaProps, _ *field.Path) bool {
		names[verbOf(s)] = true
		return true
	})
	for _, v := range versions {
		if !v.inUse || v.full == stored.full {
			continue
		}
		warn := func(path, text string, args ...any) {
			f(warning{id: "names " + v.name + path, path: v.path, text: fmt.Sprintf(text, args...)})
		}
		eachName(v.full, stored.full, "", func(path, verb, other string) {
			warn(path, "field %s has %s in version %s, and %s in version %s, which is stored: a caller without update that writes the field through version %s needs the permissions of both versions",
				path, shownVerb(verb), v.name, shownVerb(other), stored.name, v.name)
		})
		visit(v.schema, v.path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
			if verb := verbOf(s); webhook && verb != "" && !names[verb] {
				warn(path.String(), "version %s, which is stored, has no permission %s: a caller without update that writes this field also needs the permissions of the fields that the conversion webhook makes of it",
					stored.name, verb)
			}
			return true
		})
	}
}

// eachName calls f for each field that both schemas have and for which they name different
// permissions, "" for none.
func eachName(a, b *apiextensions.JSONSchemaProps, path string, f func(path, verb, other string)) {
	if a == nil || b == nil || a == b {
		return
	}
	if verb, other := verbOf(a), verbOf(b); verb != other {
		f(path, verb, other)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		if path != "" || !slices.Contains(replaced, name) {
			eachName(property(a, name), property(b, name), path+"."+name, f)
		}
	}
	eachName(values(a), values(b), path+"[*]", f)
	eachName(items(a), items(b), path+"[*]", f)
}

func verbOf(s *apiextensions.JSONSchemaProps) string {
	if s.XPermissionVerb == nil {
		return ""
	}
	return *s.XPermissionVerb
}

func shownVerb(verb string) string {
	if verb == "" {
		return "no permission of its own"
	}
	return "permission " + verb
}

func storageVersion(crd *apiextensions.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}
