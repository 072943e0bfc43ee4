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
)

// Chain is a delegation with its ancestors. The parent of a delegation is the one that its
// creator had selected when creating it.
type Chain struct {
	// Links are the delegations of the chain, from the root, which has no parent, to the leaf,
	// which the caller selected.
	Links []*Delegation
	index *Index
}

// Leaf returns the delegation that was selected.
func (c *Chain) Leaf() *Delegation { return c.Links[len(c.Links)-1] }

// Root returns the first delegation of the chain. Its delegator delegated permissions of their
// own, and not those of another delegation.
func (c *Chain) Root() *Delegation { return c.Links[0] }

// Conditional reports whether a delegation of the chain has conditions or objectUIDs, so that
// objects must be verified before they are stored.
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

// RecordUse records that the chain is used now, in those of its delegations that end after a
// time without use.
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
		if r := c.index.checkValid(link, now); r != nil {
			if ancestor && r.Reason == NotFound {
				r.Reason = AncestorGone
			}
			return r
		}
		to := caller
		if ancestor {
			// The delegator of the next link must be a delegate of this one.
			to = c.Links[i+1].Delegator
		}
		if !link.isDelegate(to) {
			return refuse(NotDelegate, fmt.Sprintf("user %q is not a delegate of %s", to.GetName(), describe(link)))
		}
	}
	if root := c.Root(); root.Keep && root.Delegator.GetName() == caller.GetName() {
		return refuse(NotDelegate, fmt.Sprintf("%s has ifLost: Keep, so its own delegator can't use it", describe(root)))
	}
	return nil
}

// CheckCovers returns why the rules and conditions of a chain do not allow a request, or nil if
// they do. It does not ask what the delegator may do. own is true if the attributes describe the
// HTTP request itself, and not another check that is made during it: only the object of the
// request itself is verified when it is stored.
func (c *Chain) CheckCovers(a authorizer.Attributes, own bool) *Refusal {
	for i, link := range c.Links {
		if !link.allows(a) && (i == len(c.Links)-1 || !link.allowsOrIncludes(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s does not allow the request", describe(link)))
		}
		if !link.canVerify(a.GetVerb()) || link.conditional() && !(own && a.IsResourceRequest() && storesObject(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s has conditions, and allows only writes whose objects can be verified", describe(link)))
		}
	}
	return nil
}

// storesObject reports whether a request stores the object that it names. Conditions can't be
// verified for requests with another body, such as reviews, bindings and connections.
func storesObject(a authorizer.Attributes) bool {
	switch a.GetSubresource() {
	case "", "status", "scale", "resize", "ephemeralcontainers", "approval", "finalize":
	default:
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

// IsPermission reports whether a verb is granular, or begins with granular:, and so authorizes
// single fields. The request itself then has the verb create, update or patch.
func IsPermission(verb string) bool {
	return verb == "granular" || strings.HasPrefix(verb, "granular:")
}

// CheckReadable returns why a delegation of the chain does not allow the verb get on the object
// of a request, or nil if all allow it.
func (c *Chain) CheckReadable(a authorizer.Attributes) *Refusal {
	reading := ReadRequest(a)
	for _, link := range c.Links {
		if !link.allows(reading) {
			return refuse(NotCovered, fmt.Sprintf("%s has conditions, and does not allow get on the object", describe(link)))
		}
	}
	return nil
}

// ReadRequest returns the attributes of a request with the verb get for the same object.
func ReadRequest(a authorizer.Attributes) authorizer.Attributes { return withVerb{a, "get"} }

// withVerb is the attributes of a request, with another verb.
type withVerb struct {
	authorizer.Attributes
	verb string
}

func (v withVerb) GetVerb() string  { return v.verb }
func (v withVerb) IsReadOnly() bool { return v.verb == "get" }

// InScope reports whether the delegation applies in a namespace, or in the whole cluster if
// namespace is empty.
func (d *Delegation) InScope(namespace string) bool { return d.inScope(namespace) }

// Entries returns the chain in the form in which audit events and the status of delegations
// describe it.
func (c *Chain) Entries() []v1alpha1.ChainEntry {
	leaf := c.Leaf()
	out := append([]v1alpha1.ChainEntry(nil), leaf.History...)
	return append(out, leaf.entry())
}

func (d *Delegation) entry() v1alpha1.ChainEntry {
	e := v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, By: Truncate(d.Delegator.GetName()), ByUID: Truncate(d.Delegator.GetUID()), Name: d.Name, UID: d.UID}
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
