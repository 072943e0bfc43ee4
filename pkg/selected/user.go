// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// User is a caller who selected an authority: a role or a delegation. Code that does not know
// this type sees the selection as an extra attribute of the user. A User is never in the group
// system:masters: members of that group are allowed everything before any authorizer sees the
// selection.
type User struct {
	user.Info
	reference selection.AuthorityReference
	// ambient is the caller without the selection, with all groups. It is known in this process
	// only. A process that gets the user from this one, such as a webhook, sees the user without
	// the group system:masters.
	ambient user.Info
	// uid is the UID of the selected delegation, or nil until the delegation is found. With it, all
	// later lookups of the request find that delegation, and not a new one of the same name.
	uid atomic.Pointer[types.UID]
	// first is the first refusal of a lookup, or nil. All later lookups of the request are refused, too: what was
	// decided by the first, such as that nothing must end a watch with its delegation, is not decided again.
	first atomic.Pointer[delegation.Refusal]
	// refused is why the delegation refused the request, or nil if it did not.
	refused atomic.Pointer[delegation.Refusal]
	// allowed is true once the delegation has allowed the request. It may be refused later.
	allowed atomic.Bool
	// bound is the binding of the service account, or nil if the caller is not bound.
	bound *accountBinding
}

// ErrNotServed says why a request that selects a delegation is refused if the server does not serve
// delegations.
var ErrNotServed = errors.New("this server does not serve AuthorityDelegations; select a Role or a ClusterRole")

// SelectsDelegation reports whether the selected authority is a delegation.
func (u *User) SelectsDelegation() bool { return u.reference.Kind == selection.AuthorityDelegationKind }

// Chain returns the selected delegation with its ancestors. It returns a Refusal if one of them is
// unknown, or if the caller can't use them. If all are known but can't be used, both results are
// set. After a refusal, each call returns a refusal, also if the delegation can be used now: a request
// may wait between two calls, and the delegation may be created meanwhile.
func (u *User) Chain(ctx context.Context, x *delegation.Index) (*delegation.Chain, *delegation.Refusal) {
	uid := u.reference.UID
	if pinned := u.uid.Load(); pinned != nil {
		uid = *pinned
	}
	chain, refusal := x.Chain(ctx, u.reference.Name, uid, u.ambient)
	if chain != nil && uid == "" {
		u.uid.CompareAndSwap(nil, &chain.Leaf().UID)
	}
	if refusal != nil {
		u.first.CompareAndSwap(nil, refusal)
	} else {
		refusal = u.first.Load()
	}
	return chain, refusal
}

// UserOf returns u as a *User, with the selection that an extra attribute of u holds. It returns an
// error if that attribute is missing or not valid. The caller of UserOf must then refuse whatever
// u asks for.
func UserOf(u user.Info) (*User, error) {
	if s, ok := u.(*User); ok {
		return s, nil
	}
	s, err := fromExtra(u.GetExtra())
	if err != nil {
		return nil, err
	}
	return newUser(u, s)
}

// fromExtra reads the selection from the extra attributes of a user, which come from another server
// or from an access review.
func fromExtra(extra map[string][]string) (*selection.SelectedAuthority, error) {
	values := extra[selection.ExtraKey]
	if len(values) != 1 {
		return nil, fmt.Errorf("the extra attribute %s has %d values and must have one", selection.ExtraKey, len(values))
	}
	s, err := selection.Parse(values[0])
	if err != nil {
		return nil, fmt.Errorf("the extra attribute %s is not a SelectedAuthority: %w", selection.ExtraKey, err)
	}
	return s, nil
}

func newUser(u user.Info, s *selection.SelectedAuthority) (*User, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	reference := s.AuthorityReference
	reference.APIVersion = ""
	return makeUser(u, reference, text), nil
}

// makeUser returns a user with a selection, which text describes in the form of the extra attribute.
func makeUser(u user.Info, reference selection.AuthorityReference, text string) *User {
	extra := make(map[string][]string, len(u.GetExtra())+1)
	maps.Copy(extra, u.GetExtra())
	extra[selection.ExtraKey] = []string{text}
	return &User{
		Info: &user.DefaultInfo{
			Name:   u.GetName(),
			UID:    u.GetUID(),
			Groups: slices.DeleteFunc(slices.Clone(u.GetGroups()), func(group string) bool { return group == user.SystemPrivilegedGroup }),
			Extra:  extra,
		},
		reference: reference,
		ambient:   WithoutSelection(u),
	}
}

// text returns the selection in the form of the extra attribute.
func (u *User) text() string {
	return u.GetExtra()[selection.ExtraKey][0]
}

// Selects reports whether a user has a selection, even an invalid one.
func Selects(u user.Info) bool {
	if u == nil {
		return false
	}
	_, selects := u.GetExtra()[selection.ExtraKey]
	return selects
}

// WithoutSelection returns the user without the selection, if there is one.
func WithoutSelection(u user.Info) user.Info {
	if s, ok := u.(*User); ok {
		return s.ambient
	}
	if !Selects(u) {
		return u
	}
	extra := maps.Clone(u.GetExtra())
	delete(extra, selection.ExtraKey)
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: extra}
}

// MemberUser helps to find out whether u is a member of a role, that is, bound to the role. It
// returns the user to look for in the bindings of the role. It returns false if u is no member and
// no binding needs to be read, because u selected an authority other than this role. A user who
// selected the role without being bound to it, because the user holds all rules of the role, is
// not a member.
func MemberUser(u user.Info, kind, namespace, name string) (member user.Info, ask bool, err error) {
	if u == nil || !seam.Selects(u) {
		return u, true, nil
	}
	s, err := UserOf(u)
	if err != nil {
		return nil, false, err
	}
	if r := s.reference; string(r.Kind) != kind || r.Namespace != namespace || r.Name != name {
		return nil, false, nil
	}
	return s.ambient, true, nil
}
