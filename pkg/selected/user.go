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
// this type sees the selection as an extra attribute. The group system:masters is removed,
// because its members are allowed everything before any authorizer sees the selection.
type User struct {
	user.Info
	reference selection.AuthorityReference
	// ambient is the caller without the selection, with all groups. It stays in this process:
	// another process that reads the selection sees the caller without system:masters.
	ambient user.Info
	// uid is the UID of the selected delegation, or nil until the delegation is found. It
	// ensures that a name stands for the same delegation throughout the request.
	uid atomic.Pointer[types.UID]
	// refused is why the delegation refused the request, or nil if it did not.
	refused atomic.Pointer[delegation.Refusal]
}

var errNotServed = errors.New("this server does not serve AuthorityDelegations; select a Role or a ClusterRole")

// delegated reports whether the selected authority is a delegation.
func (u *User) delegated() bool { return u.reference.Kind == selection.AuthorityDelegationKind }

// chain returns the selected delegation with its ancestors, and a Refusal if they are not valid.
// It returns a known chain even if it is not valid.
func (u *User) chain(ctx context.Context, x *delegation.Index) (*delegation.Chain, *delegation.Refusal) {
	uid := u.reference.UID
	if pinned := u.uid.Load(); pinned != nil {
		uid = *pinned
	}
	chain, refusal := x.Chain(ctx, u.reference.Name, uid, u.ambient)
	if chain != nil && uid == "" {
		u.uid.CompareAndSwap(nil, &chain.Leaf().UID)
	}
	return chain, refusal
}

// UserOf returns u as a *User, with the selection that the extra attribute holds. It returns an
// error if that attribute can't be read; such a user must not be allowed anything.
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

// fromExtra reads the selection from the extra attributes of a user. They come from another
// server or from an access review.
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
		ambient:   withoutSelection(u),
	}, nil
}

// text returns the selection in the form of the extra attribute.
func (u *User) text() string {
	return u.GetExtra()[selection.ExtraKey][0]
}

// selects reports whether a user has a selection, even an invalid one.
func selects(u user.Info) bool {
	if u == nil {
		return false
	}
	_, selects := u.GetExtra()[selection.ExtraKey]
	return selects
}

// withoutSelection returns the user without the selection, if there is one.
func withoutSelection(u user.Info) user.Info {
	if s, ok := u.(*User); ok {
		return s.ambient
	}
	if !selects(u) {
		return u
	}
	extra := maps.Clone(u.GetExtra())
	delete(extra, selection.ExtraKey)
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(), Extra: extra}
}

// MemberUser returns the user to look for in the bindings of a role, in order to find out
// whether u is bound to that role. It returns false if the answer is no without a look: a user
// who selected an authority can be a member of the selected role only. A user who selected a
// role without being bound to it, because the user holds all of its rules, is not a member.
func MemberUser(u user.Info, kind, namespace, name string) (as user.Info, ask bool, err error) {
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
