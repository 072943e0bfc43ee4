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

// User is a caller who selected an authority. Others see a user with the selection as an extra
// attribute. The group system:masters is removed: its members are allowed everything before any
// authorizer sees the selection.
type User struct {
	user.Info
	reference selection.AuthorityReference
	// ambient is the same caller without a selection. It is never sent to another process, where
	// a member of the privileged group loses that group.
	ambient user.Info
	// uid is the UID of the selected delegation, once it is known: a name resolves to the same
	// delegation for the whole request.
	uid atomic.Pointer[types.UID]
	// refused is why the delegation did not allow the request, if that was the final decision.
	refused atomic.Pointer[delegation.Refusal]
}

var errNotServed = errors.New("this server does not serve AuthorityDelegations; select a Role or a ClusterRole")

// delegated reports whether the selected authority is a delegation.
func (u *User) delegated() bool { return u.reference.Kind == selection.AuthorityDelegationKind }

// chain returns the chain of the selected delegation, even if the chain is not valid.
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

// UserOf returns u as a user who selects. It returns an error if the extra attribute can't be
// read: such a user may do nothing.
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

// fromExtra reads the selection from extra attributes, as another server or an access review
// sends them.
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

// selects reports whether a user has a selection, valid or not.
func selects(u user.Info) bool {
	if u == nil {
		return false
	}
	_, selects := u.GetExtra()[selection.ExtraKey]
	return selects
}

// withoutSelection returns the user without a selection.
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

// MemberUser returns the user whose bindings tell whether u is bound to a role, and false if u
// can't be bound to it: a user who selected a role is a member of that role only. A user who
// selects a role without a binding, because it holds all of its rules, is no member.
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
