// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
)

// TestMissingAsIncludes checks, for each permission of each built-in resource and for all sets of the verbs
// that can include it, that RBAC's check of roles and bindings decides as Includes does.
func TestMissingAsIncludes(t *testing.T) {
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for k, own := range builtIn() {
		for name, places := range own.general {
			verb := permission.Verb{Permission: name}
			if p, _ := registry.Lookup(name); p.Parameter != nil {
				verb.Parameterized, verb.Parameter = true, "x.io/k"
			}
			verbs := []string{"update", "patch", "create", verb.String()}
			if len(places) > 0 && len(places[0]) > 0 {
				verbs = append(verbs, generalVerbs(verb.String(), k.group, k.resource)[0][0])
			}
			for set := range 1 << len(verbs) {
				var held []string
				for i := range verbs {
					if set&(1<<i) != 0 {
						held = append(held, verbs[i])
					}
				}
				count++
				holds := func(v string) bool { return slices.Contains(held, v) }
				want := holds(verb.String()) || Includes(verb.String(), k.group, k.resource, holds)
				// RBAC itself compares verbs as text; what it finds is not missing.
				rules := []rbacv1.PolicyRule{ruleOf(k.group, "others", verbs...), ruleOf(k.group, k.resource, held...)}
				left := Missing(rules, []rbacv1.PolicyRule{ruleOf(k.group, k.resource, verb.String())})
				got := holds(verb.String()) || len(left) == 0
				if got != want {
					t.Fatalf("%s of %v: a holder of %q may grant it: %t, want %t", verb, k, held, got, want)
				}
			}
		}
	}
	t.Logf("%d sets of verbs of %d kinds", count, len(all.Kinds))
	if count < 10_000 {
		t.Errorf("only %d sets", count)
	}
}
