// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kube-granular.dev/pkg/coverage"
	"kube-granular.dev/pkg/included"
)

// heldRules are the rules that a user holds, for upstream's escalation check.
type heldRules struct {
	validation.AuthorizationRuleResolver
	rules []rbacv1.PolicyRule
	err   error
}

// RulesFor implements validation.AuthorizationRuleResolver.
func (h heldRules) RulesFor(context.Context, user.Info, string) ([]rbacv1.PolicyRule, error) {
	return h.rules, h.err
}

// maxCompared is how many missing permissions upstream's escalation check gets. It compares each of
// them with each rule that is held.
const maxCompared = 256

// confirmRules returns an error if the caller of a request does not hold all permissions of rules in
// a namespace, or in the whole cluster if namespace is empty. It reads roles and bindings through
// readers. It decides as upstream's escalation check does, but its work has a limit. In addition, a
// caller who holds ordinary verbs, such as update and patch, holds the permissions that they
// include. It is the only escalation check of this package.
func confirmRules(ctx context.Context, readers seam.Policy, namespace string, rules []rbacv1.PolicyRule) error {
	caller, ok := request.UserFrom(ctx)
	if !ok {
		return errors.New("the request has no user")
	}
	resolver := validation.NewDefaultRuleResolver(readers, readers, readers, readers)
	held, failed := resolver.RulesFor(ctx, caller, namespace)
	missing := coverage.New(rules, coverage.WorkOfCreation)
	if missing.GrantAll(held); missing.Empty() {
		return nil
	}
	if missing.Exhausted() {
		return errors.New("your roles and these rules have too many combinations to be compared; use fewer or wider rules")
	}
	// Few missing permissions are left to upstream's check, which also knows which permissions others
	// include, and describes those that are missing.
	err := validation.ConfirmNoEscalation(ctx, heldRules{resolver, held, failed}, missing.Some(maxCompared))
	if err == nil && missing.Len() <= maxCompared {
		return nil
	}
	if ordinary, other := includingRules(missing.Rules()); other {
		instead := coverage.New(ordinary, coverage.WorkOfCreation)
		if instead.GrantAll(held); instead.Empty() {
			return nil
		}
		err = validation.ConfirmNoEscalation(ctx, heldRules{resolver, held, failed}, instead.Some(maxCompared))
	}
	if err == nil {
		err = fmt.Errorf("you do not hold %d of the delegated permissions", missing.Len())
	}
	return err
}

// includingRules replaces each permission verb in rules, such as granular:image, by the ordinary
// verbs that include the permission, such as update and patch. It also reports whether it replaced
// any verb. No value may occur twice in a list of a rule.
func includingRules(rules []rbacv1.PolicyRule) (out []rbacv1.PolicyRule, other bool) {
	for i := range rules {
		rule := &rules[i]
		if len(rule.NonResourceURLs) > 0 {
			out = append(out, *rule)
			continue
		}
		for _, group := range rule.APIGroups {
			// byVerbs are the indexes in out of the rules for the same verbs. Rules stay in the order of
			// the verbs that they replace, so that a refusal always says the same.
			byVerbs := map[string]int{}
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					verbs := included.Ordinary(verb, group, resource)
					if len(verbs) == 0 {
						verbs = []string{verb}
					} else {
						other = true
					}
					key := strings.Join(verbs, ",")
					index, found := byVerbs[key]
					if !found {
						index = len(out)
						byVerbs[key] = index
						out = append(out, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{group}, ResourceNames: rule.ResourceNames})
					}
					out[index].Resources = append(out[index].Resources, resource)
				}
			}
		}
	}
	return out, other
}
