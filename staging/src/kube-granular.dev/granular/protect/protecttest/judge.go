// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protecttest

import (
	"slices"
	"strings"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

// difference is one key that differs between two objects.
type difference struct {
	slot
	Key      string
	Old, New *string
}

func differences(old, new thing, resource string) (out []difference) {
	for _, s := range slots[resource] {
		keys := map[string]bool{}
		for k := range old[s] {
			keys[k] = true
		}
		for k := range new[s] {
			keys[k] = true
		}
		for k := range keys {
			d := difference{slot: s, Key: k}
			if v, ok := old[s][k]; ok {
				d.Old = &v
			}
			if v, ok := new[s][k]; ok {
				d.New = &v
			}
			if (d.Old == nil) != (d.New == nil) || d.Old != nil && *d.Old != *d.New {
				out = append(out, d)
			}
		}
	}
	return out
}

// answering returns the differences that the caller must be authorized for. observed are those
// between the old object and what the caller sent, final those between the old object and the
// final object. For each key that is in both, answering returns both differences.
func answering(observed, final []difference) (out []difference) {
	same := func(a, b difference) bool { return a.Place == b.Place && a.Kind == b.Kind && a.Key == b.Key }
	for _, f := range final {
		if slices.ContainsFunc(observed, func(o difference) bool { return same(o, f) }) {
			out = append(out, f)
		}
	}
	for _, o := range observed {
		if slices.ContainsFunc(final, func(f difference) bool { return same(o, f) }) {
			out = append(out, o)
		}
	}
	return out
}

func has(e *protect.Entry, d difference) bool {
	if e.Kind.String() != d.Kind {
		return false
	}
	if name, ok := strings.CutSuffix(e.Key, "*"); ok {
		if !strings.HasPrefix(d.Key, name) {
			return false
		}
	} else if e.Key != d.Key {
		return false
	}
	if d.Out == "*" || len(e.Resources)+len(e.ExcludeResources) == 0 {
		return true
	}
	for _, out := range strings.Fields(d.Out) {
		included, not := len(e.Resources) == 0, false
		for _, r := range e.Resources {
			included = included || resourceOf(out) == r
		}
		for _, r := range e.ExcludeResources {
			not = not || resourceOf(out) == r
		}
		if included && !not {
			return true
		}
	}
	return false
}

func held(e *protect.Entry, holds map[string]bool, key string) bool {
	switch {
	case e.Role.Kind == "" && e.Kind == schema.Label:
		return holds["granular:protectedLabel("+key+")"]
	case e.Role.Kind == "":
		return holds["granular:protectedAnnotation("+key+")"]
	case e.Namespace != "":
		return holds[e.Role.Kind+" "+e.Role.Name+" in "+e.Namespace]
	}
	return holds[e.Role.Kind+" "+e.Role.Name]
}

// side evaluates one scope and one side, the old or the new value. It returns the names of the
// entries that protect the value and of those among them with mode Audit, and whether an entry
// admits the caller.
func side(entries []protect.Entry, namespace string, d difference, value string, audits bool, holds map[string]bool) (concerned, auditing []string, admitted bool) {
	for _, e := range entries {
		if e.Namespace != namespace || !has(&e, d) || e.Mode == protect.Audit && !audits {
			continue
		}
		listed := false
		for _, v := range append(slices.Clone(e.ProtectedValues), e.AllowedValues...) {
			listed = listed || v == value
		}
		all := len(e.ProtectedValues)+len(e.AllowedValues) == 0
		if len(e.ProtectedValues) > 0 && !listed {
			continue
		}
		concerned = append(concerned, e.Name)
		if e.Mode == protect.Audit {
			auditing = append(auditing, e.Name)
		}
		admitted = admitted || (all || listed) && held(&e, holds, d.Key)
	}
	return concerned, auditing, admitted
}

func judge(entries []protect.Entry, resource, namespace string, changes []difference, holds map[string]bool) (refused bool, found map[string]bool) {
	scopes := []string{"", namespace}
	if resource == "namespaces" || namespace == "" {
		scopes = scopes[:1]
	}
	found = map[string]bool{}
	for _, d := range changes {
		for _, scope := range scopes {
			for _, value := range []*string{d.Old, d.New} {
				if value == nil {
					continue
				}
				if concerned, _, admitted := side(entries, scope, d, *value, false, holds); len(concerned) > 0 && !admitted {
					refused = true
				}
				_, auditing, admitted := side(entries, scope, d, *value, true, holds)
				for _, name := range auditing {
					found[name] = found[name] || !admitted
				}
			}
		}
	}
	return refused, found
}
