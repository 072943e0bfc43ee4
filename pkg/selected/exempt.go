// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/pkg/delegation"
)

// ByPolicy returns the caller without its selection, if the caller selected a delegation that a
// policy issued to it and that is valid now. It returns nil in all other cases, also if x is nil,
// and for a delegation that a user created. The result is never in the group system:masters, which
// does not count while an authority is selected.
//
// The result is for a question about the caller itself that does not depend on the delegated
// rights: whether it is exempt from the protection of labels and annotations, because it only
// copies those of others.
func ByPolicy(ctx context.Context, x *delegation.Index, u user.Info) user.Info {
	if x == nil || !Selects(u) {
		return nil
	}
	s, err := UserOf(u)
	if err != nil || !s.SelectsDelegation() {
		return nil
	}
	chain, refusal := s.Chain(ctx, x)
	if refusal != nil || chain.Leaf().Source == nil {
		return nil
	}
	return &user.DefaultInfo{Name: s.GetName(), UID: s.GetUID(), Groups: s.GetGroups(), Extra: s.ambient.GetExtra()}
}
