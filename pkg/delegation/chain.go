// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
)

// Chain is a delegation with its ancestors. The parent of a delegation is the delegation that a
// user had selected when the user created it.
type Chain struct {
	// Links are the delegations of the chain, from the root, which has no parent, to the leaf,
	// which the caller selected.
	Links []*Delegation
	index *Index
}

// Leaf returns the delegation that was selected.
func (c *Chain) Leaf() *Delegation { return c.Links[len(c.Links)-1] }

// Root returns the first delegation of the chain. The user who created it delegated permissions of
// the user's own, and not those of another delegation.
func (c *Chain) Root() *Delegation { return c.Links[0] }

// Conditional reports whether at least one delegation of the chain has conditions, or allows only
// the objects in its field objectUIDs. Then objects must be verified before they are stored.
func (c *Chain) Conditional() bool {
	for _, link := range c.Links {
		if link.conditional() {
			return true
		}
	}
	return false
}

// ExpiresAt returns the earliest expiration time of the delegations, or nil if none expires.
func (c *Chain) ExpiresAt() *metav1.Time {
	var until time.Time
	for _, link := range c.Links {
		if !link.Until.IsZero() && (until.IsZero() || link.Until.Before(until)) {
			until = link.Until
		}
	}
	if until.IsZero() {
		return nil
	}
	return &metav1.Time{Time: until}
}

// RecordUse sets the time of the last use to now, in those delegations of the chain that expire
// after some time without use.
func (c *Chain) RecordUse() {
	for _, link := range c.Links {
		if link.idle > 0 {
			link.usage.record(c.index.now())
		}
	}
}

// checkValid returns why the caller can't use the chain for any request, or nil if the chain is
// valid.
func (c *Chain) checkValid(caller user.Info) *Refusal {
	now := c.index.now()
	for i, link := range c.Links {
		ancestor := i < len(c.Links)-1
		if r := c.index.checkValid(link, now, c.Describe(i)); r != nil {
			if ancestor && r.Reason == NotFound {
				r.Reason = AncestorGone
			}
			return r
		}
		delegate := caller
		if ancestor {
			// The delegator of the next link must be a delegate of this one.
			delegate = c.Links[i+1].Delegator
		}
		if !link.isDelegate(delegate) {
			if ancestor {
				return refuse(NotDelegate, fmt.Sprintf("one of the users who created %s and its ancestors is not a delegate of the parent",
					describe(c.Leaf())))
			}
			return refuse(NotDelegate, fmt.Sprintf("the caller is not a delegate of %s", describe(link)))
		}
	}
	if root := c.Root(); root.Keep && root.Delegator.GetName() == caller.GetName() {
		return refuse(NotDelegate, fmt.Sprintf("%s has ifLost: Keep, so its own delegator can't use it", c.Describe(0)))
	}
	return nil
}

// CheckCovers returns why the delegations of a chain do not cover a request, or nil if they do. It
// checks their rules, and that their conditions can be verified for such a request. It does not
// check what the delegators are allowed. own is true if the attributes describe the HTTP request
// itself, and not another authorization check that is made while the request is served. With
// conditions, only the HTTP request itself is allowed, because only its object is verified when it
// is stored.
func (c *Chain) CheckCovers(a authorizer.Attributes, own bool) *Refusal {
	for i, link := range c.Links {
		if !link.allows(a) && (i == len(c.Links)-1 || !link.allowsOrIncludes(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s does not allow the request", c.Describe(i)))
		}
		if !link.canVerify(a.GetVerb()) || link.conditional() && !(own && a.IsResourceRequest() && storesObject(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s has conditions, and allows only writes whose objects can be verified", c.Describe(i)))
		}
	}
	return nil
}

// storesObject reports whether a write stores the object that the request is for. Conditions can't
// be verified for requests that do not store it, such as access reviews, bindings of Pods to
// nodes, and connections to Pods.
func storesObject(a authorizer.Attributes) bool {
	if !permission.StoresFields(a.GetSubresource()) {
		return false
	}
	switch group := a.GetAPIGroup(); group {
	case "authorization.k8s.io", "authentication.k8s.io":
		return false
	case "":
		return a.GetResource() != "bindings"
	}
	return true
}

// InScope reports whether the delegation applies in a namespace, or in the whole cluster if
// namespace is empty.
func (d *Delegation) InScope(namespace string) bool { return d.inScope(namespace) }

// Describe returns text for a message about the delegation with an index in Links. For an ancestor
// of the selected delegation, it does not contain the ancestor's name, which the caller possibly may
// not know.
func (c *Chain) Describe(i int) string {
	if i < len(c.Links)-1 {
		return "an ancestor of " + describe(c.Leaf())
	}
	return describe(c.Leaf())
}

// DescribeDelegator returns text for a message about the user who created the delegation with an
// index in Links. As in Describe, ancestors have no names. Their creators have none either, unless a
// policy issued the ancestor: then its creator is the author of an object, and the delegates are
// those that an administrator wrote into the policy.
func (c *Chain) DescribeDelegator(i int) string {
	switch link := c.Links[i]; {
	case i == len(c.Links)-1:
	case link.Source != nil:
		return fmt.Sprintf("user %q, whose authority a policy delegated,", link.Delegator.GetName())
	default:
		return "the creator of " + c.Describe(i)
	}
	return fmt.Sprintf("user %q, who created %s,", c.Leaf().Delegator.GetName(), describe(c.Leaf()))
}

// Entries returns how the caller got the authority of the chain: the history of the leaf, which
// lists its ancestors, impersonations and tokens, and then the leaf itself. Audit events and the
// status of delegations contain these entries.
func (c *Chain) Entries() []v1alpha1.ChainEntry {
	leaf := c.Leaf()
	out := append([]v1alpha1.ChainEntry(nil), leaf.History...)
	return append(out, leaf.entry())
}

func (d *Delegation) entry() v1alpha1.ChainEntry {
	e := v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, By: Truncate(d.Delegator.GetName()), ByUID: Truncate(d.Delegator.GetUID()),
		Name: d.Name, UID: d.UID}
	if !d.Until.IsZero() {
		e.Until = &metav1.Time{Time: d.Until}
	}
	return e
}

// Truncate returns name, shortened to at most 256 bytes.
func Truncate(name string) string {
	if len(name) <= 256 {
		return name
	}
	return strings.ToValidUTF8(name[:253], "") + "..."
}

func describe(d *Delegation) string {
	return fmt.Sprintf("AuthorityDelegation %q", d.Name)
}
