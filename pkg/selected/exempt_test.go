// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// TestByPolicy checks which callers count as delegates of a policy, and that the result is the
// caller without its selection and without the group system:masters.
func TestByPolicy(t *testing.T) {
	x := delegation.NewIndex()
	for name, cause := range map[string]*v1alpha1.DelegationCause{"by-policy": {Policy: "p", UID: "p-1"}, "by-user": nil, "ended": {Policy: "p", UID: "p-1"}} {
		d := &v1alpha1.AuthorityDelegation{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"},
			Spec:       v1alpha1.AuthorityDelegationSpec{Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "controller"}}, Scope: v1alpha1.DelegationScope{Cluster: true}},
			Status:     v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "ron"}, Cause: cause},
		}
		if name == "ended" {
			d.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		x.Observe(d, false)
	}
	selecting := func(kind selection.Kind, name string) map[string][]string {
		s := &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: kind, Name: name}}
		text, err := s.Text()
		if err != nil {
			t.Fatal(err)
		}
		return map[string][]string{selection.ExtraKey: {text}, "other": {"kept"}}
	}
	for name, tc := range map[string]struct {
		user  string
		extra map[string][]string
		x     *delegation.Index
		want  bool
	}{
		"of a policy":         {"controller", selecting(selection.AuthorityDelegationKind, "by-policy"), x, true},
		"of a user":           {"controller", selecting(selection.AuthorityDelegationKind, "by-user"), x, false},
		"of another delegate": {"jane", selecting(selection.AuthorityDelegationKind, "by-policy"), x, false},
		"that has ended":      {"controller", selecting(selection.AuthorityDelegationKind, "ended"), x, false},
		"that is unknown":     {"controller", selecting(selection.AuthorityDelegationKind, "none"), x, false},
		"a role":              {"controller", selecting(selection.ClusterRoleKind, "by-policy"), x, false},
		"nothing":             {"controller", nil, x, false},
		"nonsense":            {"controller", map[string][]string{selection.ExtraKey: {"{"}}, x, false},
		"no delegations":      {"controller", selecting(selection.AuthorityDelegationKind, "by-policy"), nil, false},
	} {
		got := ByPolicy(t.Context(), tc.x, &user.DefaultInfo{Name: tc.user, Groups: []string{"a", user.SystemPrivilegedGroup}, Extra: tc.extra})
		if (got != nil) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if got != nil && (got.GetName() != tc.user || !slices.Equal(got.GetGroups(), []string{"a"}) || Selects(got) || len(got.GetExtra()) != 1) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
