// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/coverage"
)

// largeRoles are roles that a caller can select without a binding, and that are as large as accepted
// in one way each. All allow get on pods.
func largeRoles() map[string][]rbacv1.PolicyRule {
	get, core, pods := append(words("v", 63), "get"), append(words("g", 63), ""), append(words("r", 15), "pods")
	same := slices.Repeat([]string{"pods"}, 256)
	many := []rbacv1.PolicyRule{on("get", "pods")}
	for i := range 300 {
		many = append(many, rule(get[:4], []string{""}, []string{"pods", fmt.Sprint("r", i)}, []string{fmt.Sprint("n", i)}))
	}
	return map[string][]rbacv1.PolicyRule{
		"one-rule":  {rule(get, core, pods, nil)},
		"repeated":  {rule([]string{"get"}, []string{""}, same, nil), rule(slices.Repeat([]string{"get"}, 256), []string{""}, same, nil)},
		"names":     {rule([]string{"get"}, []string{""}, []string{"pods"}, nil), rule([]string{"get"}, []string{""}, []string{"pods"}, words("n", 8000))},
		"300-rules": many,
	}
}

// BenchmarkLargeRoles measures one authorization of a caller who selects a large role without being
// bound to it, and the same without a selection. The caller holds the role's rules by another role of
// the same rules, by one rule for each verb, or by one rule for everything.
func BenchmarkLargeRoles(b *testing.B) {
	for name, rules := range largeRoles() {
		var byVerb []rbacv1.PolicyRule
		for _, verb := range append(words("v", 63), "get") {
			byVerb = append(byVerb, rule([]string{verb}, []string{"*"}, []string{"*"}, nil))
		}
		for held, other := range map[string][]rbacv1.PolicyRule{
			"the-same": rules, "by-verb": byVerb, "everything": {rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)},
		} {
			p := newPolicy()
			put(b, p.clusterRoles, clusterRole("large", rules...), clusterRole("other", other...))
			put(b, p.roleBindings, binding("n", "a", "ClusterRole", "other", named("jane")))
			caller := &user.DefaultInfo{Name: "jane", Groups: []string{user.AllAuthenticated}}
			configured := chained(b, p.rbac, p.rbac)
			q := ask(caller, "get", "n", "pods")
			b.Run(fmt.Sprintf("%s/held=%s/without", name, held), func(b *testing.B) {
				defer reportCPU(b)()
				for b.Loop() {
					if d, _, _ := configured.Authorize(b.Context(), q); d != authorizer.DecisionAllow {
						b.Fatal("not allowed")
					}
				}
			})
			u := selecting(b, caller, selection.ClusterRole("large"))
			for _, remembered := range []bool{false, true} {
				sel := Selection{}
				if remembered {
					sel.Covered = NewCovered()
				}
				b.Run(fmt.Sprintf("%s/held=%s/selected/remembered=%t", name, held, remembered), func(b *testing.B) {
					defer reportCPU(b)()
					for b.Loop() {
						found := false
						ctx := &authorization{Context: b.Context(), attributes: requestOf{q, u}}
						sel.Visit(ctx, p.policy(), u, "n", func(_ fmt.Stringer, r *rbacv1.PolicyRule, _ error) bool {
							found = r != nil
							return !found
						})
						// The comparison of 300 rules with as many may reach its limit.
						if !found && name != "300-rules" {
							b.Fatal("not covered")
						}
					}
				})
			}
		}
	}
}

// BenchmarkChild measures the check of a delegation that is created under another one, with as many
// permissions: which of the first one's rules count, and whether they contain all of the new one.
func BenchmarkChild(b *testing.B) {
	for _, n := range []int{256, 4096, 16_384, 65_536} {
		var rules []rbacv1.PolicyRule
		for i := 0; i < 64 && i*64 < n; i++ {
			rules = append(rules, rule(words("v", 64), []string{fmt.Sprint("g", i)}, words("r", max(1, n/4096)), nil))
		}
		held := append(slices.Clone(rules[1:]), rule([]string{"*"}, []string{"g0"}, []string{"*"}, nil))
		p := newPolicy()
		put(b, p.clusterRoles, clusterRole("held", held...))
		put(b, p.clusterRoleBindings, clusterBinding("a", "held", named("alice")))
		d := delegated(rules...)
		d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
		chain, refusal := indexed(d).Chain(b.Context(), "d", "", &user.DefaultInfo{Name: "bot"})
		if refusal != nil {
			b.Fatal(refusal)
		}
		ctx := ForNewDelegation(b.Context())
		b.Run(fmt.Sprintf("permissions=%d", n), func(b *testing.B) {
			defer reportCPU(b)()
			for b.Loop() {
				missing := coverage.New(rules, coverage.WorkOfCreation)
				if missing.GrantAll(effectiveRules(ctx, p.policy(), chain, "")); !missing.Empty() {
					b.Fatalf("%d permissions are missing", missing.Len())
				}
			}
		})
	}
}
