// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/pkg/included"
)

// TestDelegatedIsIncluded checks, for permissions of each built-in resource and for all sets of the ordinary
// verbs, that a caller may put a verb into a delegation or a policy exactly if the caller holds it, or
// included.Includes says so. TestGrantableIsHeld of that package proves that this gives nothing away that
// the caller does not hold.
func TestDelegatedIsIncluded(t *testing.T) {
	all, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	count, seen := 0, map[string]bool{}
	for _, kind := range all.Kinds {
		for _, name := range kind.Resources {
			resource, group, _ := strings.Cut(name, ".")
			if _, sub, found := strings.Cut(name, "/"); found {
				resource, group = strings.SplitN(resource, "/", 2)[0]+"/"+sub, strings.SplitN(group, "/", 2)[0]
			}
			for _, verb := range verbsOf(all, kind.Kind) {
				if seen[name+verb] {
					continue
				}
				seen[name+verb] = true
				verbs := []string{"update", "patch", "create", verb}
				for set := range 1 << len(verbs) {
					var held []string
					for i := range verbs {
						if set&(1<<i) != 0 {
							held = append(held, verbs[i])
						}
					}
					holds := func(v string) bool { return slices.Contains(held, v) }
					want := holds(verb) || included.Includes(verb, group, resource, holds)
					rules := func(verbs ...string) []rbacv1.PolicyRule {
						return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}
					}
					if err := confirmRules(ctx, holder{rules(held...)}.policy(), "", rules(verb)); (err == nil) != want {
						t.Fatalf("%s of %s: a holder of %q may delegate it: %v, want %t", verb, name, held, err, want)
					}
					count++
				}
			}
		}
	}
	t.Logf("%d sets of verbs", count)
	if count < 10_000 {
		t.Errorf("only %d sets", count)
	}
}

// verbsOf returns the verbs of a kind for one key, "granular" among them.
func verbsOf(all *registry.Registry, kind string) []string {
	out := []string{"granular"}
	for _, p := range all.Permissions {
		if !slices.ContainsFunc(p.Places, func(place registry.Place) bool {
			return slices.Contains(place.Kinds, kind) || slices.Contains(place.Kinds, registry.All)
		}) {
			continue
		}
		if out = append(out, "granular:"+p.Name); p.Parameter != nil {
			out[len(out)-1] += "(x.io/k)"
		}
	}
	return out
}
