// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The limits of the work of a Set. A unit of work is a value that is looked up, or 64 permissions
// that are granted. It takes 0.2 microseconds at most.
const (
	// WorkOfSelection is for comparisons of a selected role with what the caller holds, which may be
	// made anew in any request.
	WorkOfSelection = 1 << 14
	// WorkOfRequest is for comparisons that a server makes for requests under a delegation.
	WorkOfRequest = 1 << 17
	// WorkOfCreation is for comparisons that a server makes when a delegation is created.
	WorkOfCreation = 1 << 22
)

// maxPermissions is the maximum number of permissions of a Set, which has a bit for each. It is
// twice as much as a delegation can have, because two ordinary verbs can include one permission.
const maxPermissions = 1 << 17

// Set is the permissions of some rules. Only one goroutine may use it.
type Set struct {
	blocks []*block
	// byResource has the indexes of the blocks with each resource, so that a rule is compared only with
	// those blocks.
	byResource map[string][]int
	// granted counts the calls of Grant.
	granted int
	// work is how much work the Set may still do.
	work int
	// left is how many permissions are left in all blocks.
	left int
	// tooMany is true if the rules have more permissions than a Set can have.
	tooMany bool
}

// New returns the permissions of rules, which must not be modified afterwards. The Set may do as
// much work as the limit says. If the rules have too many permissions, the Set has reached its limit
// from the beginning, and is never empty. The same holds if the limit does not suffice to read the rules.
func New(rules []rbacv1.PolicyRule, work int) *Set {
	if work -= workOf(rules); work <= 0 || count(rules) > maxPermissions {
		return &Set{tooMany: true}
	}
	s := &Set{work: work, byResource: map[string][]int{}}
	for i := range rules {
		rule := &rules[i]
		if len(rule.Verbs)*len(rule.APIGroups)*len(rule.Resources) > 0 {
			for _, resource := range rule.Resources {
				if known := s.byResource[resource]; len(known) == 0 || known[len(known)-1] != len(s.blocks) {
					s.byResource[resource] = append(known, len(s.blocks))
				}
			}
			s.blocks = append(s.blocks, newBlock(rule, verbs, groups, resources, names))
		}
		if len(rule.Verbs)*len(rule.NonResourceURLs) > 0 {
			s.blocks = append(s.blocks, newBlock(rule, verbs, urls))
		}
	}
	for _, b := range s.blocks {
		s.left += b.count
	}
	return s
}

// workOfRule is the work of making a block, without its values.
const workOfRule = 20

// workOf returns how much work it is to make a Set of rules.
func workOf(rules []rbacv1.PolicyRule) (sum int) {
	for i := range rules {
		sum += workOfRule
		for _, k := range []kind{verbs, groups, resources, names, urls} {
			sum += len(*k.list(&rules[i]))
		}
	}
	return sum
}

// count returns how many permissions rules have, or more than maxPermissions if they have more.
func count(rules []rbacv1.PolicyRule) (sum int) {
	for i := range rules {
		for _, kinds := range [][]kind{{verbs, groups, resources, names}, {verbs, urls}} {
			product := 1
			for _, k := range kinds {
				n := len(sets.New(*k.list(&rules[i])...))
				if k == names {
					n = max(n, 1)
				}
				if product *= n; product > maxPermissions {
					return product
				}
			}
			sum += product
		}
		if sum > maxPermissions {
			return sum
		}
	}
	return sum
}

// Clone returns a copy of the Set, with the same permissions and the same limit.
func (s *Set) Clone() *Set {
	out := &Set{work: s.work, left: s.left, tooMany: s.tooMany, byResource: s.byResource, granted: s.granted,
		blocks: make([]*block, len(s.blocks))}
	for i, b := range s.blocks {
		clone := *b
		clone.left = slices.Clone(b.left)
		out.blocks[i] = &clone
	}
	return out
}

// Grant removes the permissions that a rule grants. It removes none once the limit is reached.
func (s *Set) Grant(rule *rbacv1.PolicyRule) {
	if s.Exhausted() {
		return
	}
	s.granted++
	if len(rule.NonResourceURLs) > 0 || slices.ContainsFunc(rule.Resources,
		func(resource string) bool { return strings.HasPrefix(resource, "*") }) {
		for _, b := range s.blocks {
			s.grantBlock(b, rule)
		}
		return
	}
	for _, resource := range rule.Resources {
		s.work--
		for _, i := range s.byResource[resource] {
			s.grantBlock(s.blocks[i], rule)
		}
	}
}

// grantBlock removes the permissions of one block that a rule grants, once for each call of Grant.
func (s *Set) grantBlock(b *block, rule *rbacv1.PolicyRule) {
	if s.work <= 0 || b.granted == s.granted {
		return
	}
	b.granted = s.granted
	s.left -= b.count
	s.work -= b.grant(rule)
	s.left += b.count
}

// GrantAll calls Grant for each of the rules.
func (s *Set) GrantAll(rules []rbacv1.PolicyRule) {
	for i := range rules {
		s.Grant(&rules[i])
	}
}

// Keep removes all permissions that the rules do not grant.
func (s *Set) Keep(rules []rbacv1.PolicyRule) {
	missing := s.Clone()
	missing.GrantAll(rules)
	s.Remove(missing)
}

// Remove removes the permissions of a Set that is a clone of this one.
func (s *Set) Remove(other *Set) {
	s.work = min(s.work, other.work)
	s.left = 0
	for i, b := range other.blocks {
		s.blocks[i].remove(b)
		s.left += s.blocks[i].count
	}
}

// Empty reports whether no permission is left.
func (s *Set) Empty() bool { return !s.tooMany && s.Len() == 0 }

// Len returns how many permissions are left. A permission that several rules have counts once for
// each of them.
func (s *Set) Len() int { return s.left }

// Exhausted reports whether the Set has reached its limit, so that permissions may be left that
// were granted.
func (s *Set) Exhausted() bool { return s.work <= 0 }

// Rules returns rules that have exactly the permissions that are left. No value occurs twice in a list
// of a rule. A rule that has lost nothing stays one rule.
func (s *Set) Rules() (out []rbacv1.PolicyRule) {
	for _, b := range s.blocks {
		if b.isWhole() {
			out = append(out, b.whole())
		} else {
			out = append(out, b.split(b.count)...)
		}
	}
	return out
}

// Some returns rules that have n of the permissions that are left, or all if they are fewer. Each rule
// has one value in all lists but one.
func (s *Set) Some(n int) (out []rbacv1.PolicyRule) {
	for _, b := range s.blocks {
		taken := min(n, b.count)
		out = append(out, b.split(taken)...)
		n -= taken
	}
	return out
}
