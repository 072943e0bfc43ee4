// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/permission"
)

// TestRegistry checks that the data can be read, that every entry is complete, and that every name
// is valid in a verb.
func TestRegistry(t *testing.T) {
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, p := range r.Permissions {
		names[p.Name] = true
	}
	kinds := map[string]bool{All: true}
	for _, k := range r.Kinds {
		kinds[k.Kind] = true
		if len(k.Resources) == 0 {
			t.Errorf("%s: no resources", k.Kind)
		}
	}
	if !slices.IsSortedFunc(r.Permissions, func(a, b Permission) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the permissions are not sorted")
	}
	for _, p := range r.Permissions {
		if err := permission.Validate(p.Name); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.Meaning == "" || strings.Contains(p.Meaning, "\n") {
			t.Errorf("%s: the meaning must be one line", p.Name)
		}
		if len(p.Places) == 0 {
			t.Errorf("%s: no places", p.Name)
		}
		for _, place := range p.Places {
			for _, above := range place.Above {
				if !names[above] {
					t.Errorf("%s: %s is covered by %s, which is not in the registry", p.Name, place.Path, above)
				}
			}
			for _, kind := range place.Kinds {
				if !kinds[kind] {
					t.Errorf("%s: %s is in %s, which is not in the registry", p.Name, place.Path, kind)
				}
			}
		}
	}
}

// TestLookup checks that the registry has the permissions that KEP-3617 names.
func TestLookup(t *testing.T) {
	tests := map[string]string{
		"metadata":              ".metadata",
		"label":                 ".metadata.labels[*]",
		"annotation":            ".metadata.annotations[*]",
		"finalizer":             ".metadata.finalizers[*]",
		"ownerReferences":       ".metadata.ownerReferences",
		"status":                ".status",
		"condition":             ".status.conditions[*]",
		"specification":         ".spec",
		"replicas":              ".spec.replicas",
		"nodeAssignment":        ".spec.nodeName",
		"podTemplateAnnotation": ".spec.template.metadata.annotations[*]",
		"example.com/nodePool":  "",
		"nodePool":              "",
	}
	for name, path := range tests {
		p, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case path == "" && p != nil:
			t.Errorf("%s: found, it is nobody's", name)
		case path != "" && (p == nil || !slices.ContainsFunc(p.Places, func(place Place) bool { return place.Path == path })):
			t.Errorf("%s: it is not at %s: %+v", name, path, p)
		}
	}
}

// TestBrokenData checks that data that can't be read, or has a field that nobody reads, is an error
// of everything that would use it.
func TestBrokenData(t *testing.T) {
	defer func(before func() (*index, error)) { load = before }(load)
	for _, broken := range []string{"permissions: labels", "permissions: []\nresources: []\n", "\t"} {
		load = parseOnce([]byte(broken))
		if r, err := Load(); r != nil || err == nil || !strings.Contains(err.Error(), "permissions.yaml") {
			t.Errorf("%q: %v, %v", broken, r, err)
		}
		if p, err := Lookup("labels"); p != nil || err == nil {
			t.Errorf("%q: labels is %v, %v", broken, p, err)
		}
	}
}
