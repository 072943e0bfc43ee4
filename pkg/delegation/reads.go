// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/coverage"
)

// A condition makes the answer to a write depend on the content of an object: of the stored one, and
// of the new one with all that the server adds. Whoever may write the object, and writes the
// condition, can so find out the content bit by bit. So conditions are evaluated only for objects
// that the delegations allow to get. A UID in objectUIDs reveals less than the server itself does:
// it answers a write with a wrong UID by the right one.

// HasConditions reports whether at least one delegation of the chain has conditions.
func (c *Chain) HasConditions() bool {
	return slices.ContainsFunc(c.Links, func(link *Delegation) bool { return len(link.conditions.written()) > 0 })
}

// NeedsGet reports whether all delegations of the chain must allow the verb get on the object of a
// request, because the answer will depend on the content of that object. Verbs for single fields
// need get with objectUIDs, too: unlike a caller with an ordinary verb, one who holds only these does
// not see the object in the answer.
func (c *Chain) NeedsGet(a authorizer.Attributes) bool {
	return c.HasConditions() || c.Conditional() && permission.IsVerb(a.GetVerb())
}

// CheckReadable returns why a delegation of the chain does not allow the verb get on the object
// of a request, or nil if all allow it.
func (c *Chain) CheckReadable(a authorizer.Attributes) *Refusal {
	reading := ReadRequest(a)
	for i, link := range c.Links {
		if !link.allows(reading) {
			return refuse(NotCovered, fmt.Sprintf("%s does not allow get on the object, which conditions require", c.Describe(i)))
		}
	}
	return nil
}

// ReadRequest returns the attributes of a request with the verb get for the object that a request
// stores. For a request to a subresource, such as scale, this is the object itself.
func ReadRequest(a authorizer.Attributes) authorizer.Attributes { return readRequest{a} }

type readRequest struct{ authorizer.Attributes }

func (readRequest) GetVerb() string        { return "get" }
func (readRequest) GetSubresource() string { return "" }
func (readRequest) IsReadOnly() bool       { return true }

// withVerb replaces the verb in the attributes of a request.
type withVerb struct {
	authorizer.Attributes
	verb string
}

func (v withVerb) GetVerb() string  { return v.verb }
func (v withVerb) IsReadOnly() bool { return v.verb == "get" }

// Reads returns rules with the verb get for all objects on which conditions can be evaluated for
// requests that rules allow.
func Reads(rules []rbacv1.PolicyRule) (out []rbacv1.PolicyRule) {
	for i := range rules {
		rule := &rules[i]
		if !slices.ContainsFunc(rule.Verbs, writes) {
			continue
		}
		for _, group := range rule.APIGroups {
			read := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{group}, ResourceNames: rule.ResourceNames}
			for _, resource := range rule.Resources {
				name, subresource, _ := strings.Cut(resource, "/")
				stores := storesObject(authorizer.AttributesRecord{APIGroup: group, Resource: name, Subresource: subresource})
				if stores && !slices.Contains(read.Resources, name) {
					read.Resources = append(read.Resources, name)
				}
			}
			if len(read.Resources) > 0 {
				out = append(out, read)
			}
		}
	}
	return out
}

// writes reports whether a verb allows requests for which conditions are evaluated.
func writes(verb string) bool {
	switch verb {
	case "create", "update", "patch", rbacv1.VerbAll:
		return true
	}
	return permission.IsVerb(verb)
}

// MissingReads returns which objects rules allow to write but not to get. With conditions, rules do
// not allow to write them. Each entry describes resources, with a name if the rules are limited to
// names. There are at most maxDescribed entries.
func MissingReads(rules []rbacv1.PolicyRule) (out []string) {
	missing := coverage.New(Reads(rules), coverage.WorkOfCreation)
	missing.GrantAll(rules)
	for _, rule := range missing.Some(maxDescribed) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				text := resource
				if group != "" {
					text += "." + group
				}
				if len(rule.ResourceNames) > 0 {
					text += fmt.Sprintf(" %q", rule.ResourceNames)
				}
				if len(out) < maxDescribed && !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	if len(out) == 0 && !missing.Empty() {
		out = []string{"too many resources to compare"}
	}
	return out
}

const maxDescribed = 8

// Problems returns why a stored delegation allows less than its rules say, as its status reports.
// The result depends only on the delegation and its ancestors, and not on what anybody may do now. It
// is nil for a delegation that the index does not have yet.
func (x *Index) Problems(d *v1alpha1.AuthorityDelegation) (out []string) {
	conditional := len(d.Spec.Conditions) > 0
	if !conditional && len(d.Status.History) == 0 {
		return nil
	}
	x.mu.RLock()
	known := x.stored.Get(d.UID)
	for _, e := range d.Status.History {
		if link := x.stored.Get(e.UID); e.Via == v1alpha1.ViaDelegation && link != nil {
			conditional = conditional || len(link.conditions.written()) > 0
		}
	}
	x.mu.RUnlock()
	if !conditional || known == nil {
		return nil
	}
	if problem := known.ConditionProblem(); problem != "" {
		out = append(out, problem)
	}
	if missing := known.missingReads(); len(missing) > 0 {
		out = append(out, fmt.Sprintf("conditions need the verb get, which the rules lack for %s: the delegation does not allow to write these objects", strings.Join(missing, ", ")))
	}
	return out
}
