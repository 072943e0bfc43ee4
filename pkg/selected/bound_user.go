// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/pkg/delegation"
)

// bind returns the user as the server sees it from now on: a *User with the selection of the delegation
// if the user is a bound service account, and u itself otherwise. It returns a Refusal if the account
// selects an authority that is not narrower than its delegation.
func (b *Bound) bind(ctx context.Context, x *delegation.Index, u user.Info) (user.Info, *delegation.Refusal) {
	if s, ok := u.(*User); ok && s.bound != nil {
		return u, nil
	}
	bound := b.of(u)
	if bound == nil {
		return u, nil
	}
	if !Selects(u) {
		return bound.user(u), nil
	}
	s, err := UserOf(u)
	if err != nil {
		return nil, notNarrower(bound)
	}
	return bound.narrowed(ctx, x, s)
}

// user returns the user under the delegation.
func (b *accountBinding) user(u user.Info) *User {
	out := makeUser(b.identity(u), b.reference, b.selected)
	out.bound = b
	return out
}

// identity returns the user with the UID of the account, if the user has none. The delegation names its
// delegate with this UID. An impersonated user or the user of an access review often has no UID.
func (b *accountBinding) identity(u user.Info) user.Info {
	if u.GetUID() != "" || b.accountUID == "" {
		return u
	}
	return &user.DefaultInfo{Name: u.GetName(), UID: string(b.accountUID), Groups: u.GetGroups(), Extra: u.GetExtra()}
}

// narrowed returns the user under the authority that it selected itself, if this is the delegation of
// the binding or one that was created under it.
func (b *accountBinding) narrowed(ctx context.Context, x *delegation.Index, s *User) (*User, *delegation.Refusal) {
	if b.problem != nil || x == nil || !s.SelectsDelegation() {
		return nil, notNarrower(b)
	}
	out := makeUser(b.identity(s.ambient), s.reference, s.text())
	out.bound = b
	chain, _ := out.Chain(ctx, x)
	if chain == nil {
		return nil, notNarrower(b)
	}
	for _, link := range chain.Links {
		if link.UID == b.reference.UID {
			return out, nil
		}
	}
	return nil, notNarrower(b)
}

func notNarrower(b *accountBinding) *delegation.Refusal {
	if b.problem != nil {
		return b.problem
	}
	return &delegation.Refusal{Reason: delegation.OtherBinding, Message: fmt.Sprintf(
		"the service account acts under AuthorityDelegation %q, and can select only that one or one that was created under it", b.reference.Name)}
}

var (
	errImpersonation = errors.New("a service account that acts under a delegation can't impersonate: the delegation would not restrict the other user")
	errConnection    = errors.New("a service account that acts under a delegation can't connect to pods, services or nodes " +
		"(exec, attach, portforward, proxy): what it starts there would not end with the delegation")
)

// checkBound returns an error if the binding can't be used, or if a request is refused to every bound
// account. It stores the reason for the audit event.
func (u *User) checkBound(ctx context.Context, a authorizer.Attributes) error {
	refusal := u.bound.problem
	if err := refusedToBound(a); refusal == nil && err != nil {
		refusal = &delegation.Refusal{Reason: delegation.Bound, Message: err.Error()}
	}
	if refusal == nil {
		return nil
	}
	if isOwnRequest(ctx, u, a) {
		u.refused.Store(refusal)
	}
	return refusal
}

// refusedToBound returns why a request is refused to every bound account, whatever its delegation
// allows: the delegation would not restrict, or not end, what follows.
func refusedToBound(a authorizer.Attributes) error {
	if verb := a.GetVerb(); verb == "impersonate" || strings.HasPrefix(verb, "impersonate:") || strings.HasPrefix(verb, "impersonate-on:") {
		return errImpersonation
	}
	if a.IsResourceRequest() {
		switch a.GetSubresource() {
		case "exec", "attach", "portforward", "proxy":
			return errConnection
		}
	}
	return checkCredential(a)
}
