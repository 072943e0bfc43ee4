// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/lru"

	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/coverage"
)

// Covered remembers for which roles their rules are covered by the other rules of a caller.
type Covered struct{ results *lru.Cache }

const (
	// maxCovered is the maximum number of results that Covered remembers.
	maxCovered = 512
	// maxHeld is the maximum number of rules that a remembered result depends on.
	maxHeld = 4096
)

// NewCovered returns a Covered without results.
func NewCovered() *Covered { return &Covered{lru.New(maxCovered)} }

// coveredKey identifies a result: the first of the rules, which stands for one version of a role,
// and the caller and the namespace, for which the other rules usually stay the same.
type coveredKey struct {
	rules             *rbacv1.PolicyRule
	caller, namespace string
}

// coveredResult is a result, and the rules that it was derived from. Rules are never modified in
// place. As long as the same rules are held, at the same addresses, the result is the same.
type coveredResult struct {
	held    []*rbacv1.PolicyRule
	covered bool
}

// covers reports whether the rules held cover all rules of a role. A nil Covered remembers nothing.
func (c *Covered) covers(caller user.Info, namespace string, held []*rbacv1.PolicyRule, rules []rbacv1.PolicyRule) bool {
	key := coveredKey{&rules[0], caller.GetName(), namespace}
	if c != nil {
		if known, ok := c.results.Get(key); ok && slices.Equal(known.(*coveredResult).held, held) {
			return known.(*coveredResult).covered
		}
	}
	covered := compare(held, rules)
	if c != nil && len(held) <= maxHeld {
		c.results.Add(key, &coveredResult{held, covered})
	}
	return covered
}

// compare reports whether the rules held cover other rules. It returns false for rules with too many
// permissions, and if the comparison is too much work.
func compare(held []*rbacv1.PolicyRule, rules []rbacv1.PolicyRule) bool {
	if !authorityvalidation.FewPermissions(rules) {
		return false
	}
	left := coverage.New(rules, coverage.WorkOfSelection)
	for _, rule := range held {
		if left.Grant(rule); left.Empty() {
			return true
		}
	}
	return false
}
