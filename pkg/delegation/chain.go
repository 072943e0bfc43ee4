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

// Chain is a delegation and those that it was made under.
type Chain struct {
	// Links are the delegations, the one whose delegator delegated what is its own first.
	Links []*Delegation
	index *Index
}

// Leaf is the delegation that was selected.
func (c *Chain) Leaf() *Delegation { return c.Links[len(c.Links)-1] }

// Root is the delegation whose delegator delegated what is its own.
func (c *Chain) Root() *Delegation { return c.Links[0] }

// Conditional reports whether what is written must be looked at.
func (c *Chain) Conditional() bool {
	for _, link := range c.Links {
		if link.conditional() {
			return true
		}
	}
	return false
}

// ExpiresAt returns when the chain ends, nil if it does not end by itself.
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

// RecordUse notes that the chain is used.
func (c *Chain) RecordUse() {
	for _, link := range c.Links {
		if link.idle > 0 {
			link.usage.record(c.index.now())
		}
	}
}

// checkValid reports why the chain does not hold, whatever it is used for.
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
			// Who was a delegate of this one made the next.
			to = c.Links[i+1].Delegator
		}
		if !link.isDelegate(to) {
			return refuse(NotDelegate, fmt.Sprintf("%s is not to user %q", describe(link), to.GetName()))
		}
	}
	if root := c.Root(); root.Keep && root.Delegator.GetName() == caller.GetName() {
		return refuse(NotDelegate, fmt.Sprintf("%s keeps what its delegator may have lost, so that user can't use it", describe(root)))
	}
	return nil
}

// CheckCovers reports why a chain does not reach as far as a request, before the delegator is
// asked about. The request is the caller's own if it is what is to be done next, and not a
// question about something else: only that is looked at when it is stored.
func (c *Chain) CheckCovers(a authorizer.Attributes, own bool) *Refusal {
	for i, link := range c.Links {
		if !link.allows(a) && (i == len(c.Links)-1 || !link.allowsOrIncludes(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s does not allow it", describe(link)))
		}
		if !link.canVerify(a.GetVerb()) || link.conditional() && !(own && a.IsResourceRequest() && storesObject(a)) {
			return refuse(NotCovered, fmt.Sprintf("%s has conditions, and allows only writes that can be looked at", describe(link)))
		}
	}
	return nil
}

// storesObject reports whether what is written by a request is stored as the object that it names.
// Whatever else is posted, reviews, bindings and connections among it, reaches no condition.
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

// IsPermission reports whether a verb is one of those that are asked about single fields of
// a request, whose own verb is create, update or patch.
func IsPermission(verb string) bool {
	return verb == "granular" || strings.HasPrefix(verb, "granular:")
}

// CheckReadable reports why the object of a request could not be read.
func (c *Chain) CheckReadable(a authorizer.Attributes) *Refusal {
	reading := ReadRequest(a)
	for _, link := range c.Links {
		if !link.allows(reading) {
			return refuse(NotCovered, fmt.Sprintf("%s has conditions, and does not allow to read the object", describe(link)))
		}
	}
	return nil
}

// ReadRequest returns the question whether the object of a request may be read.
func ReadRequest(a authorizer.Attributes) authorizer.Attributes { return withVerb{a, "get"} }

// withVerb is a request with another verb.
type withVerb struct {
	authorizer.Attributes
	verb string
}

func (v withVerb) GetVerb() string  { return v.verb }
func (v withVerb) IsReadOnly() bool { return v.verb == "get" }

// InScope reports whether requests in a namespace are, or everywhere if that is empty.
func (d *Delegation) InScope(namespace string) bool { return d.inScope(namespace) }

// Entries are the chain as audit logs have it.
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

// Truncate returns a name, cut if it is long.
func Truncate(name string) string {
	if len(name) <= 256 {
		return name
	}
	return strings.ToValidUTF8(name[:253], "") + "..."
}

func describe(d *Delegation) string {
	return fmt.Sprintf("AuthorityDelegation %q", d.Name)
}
