// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/selected"
)

// withoutFinalChecks is the Selection of a server that makes no final checks of writes.
type withoutFinalChecks struct{ selected.Selection }

func (withoutFinalChecks) Commit(context.Context, bool) seam.Commit { return nil }

// TestHoldsUnderASelection holds that a user who selected a role holds that role if a binding
// gives it to the user. The user holds no other role, even if bound to it, and does not hold a
// selected role whose rules the user only covers by other roles.
func TestHoldsUnderASelection(t *testing.T) {
	seam.Install(func() seam.Selection { return withoutFinalChecks{} })
	t.Cleanup(func() { seam.Install(nil) })
	roles, _ := known(t,
		role("", "setter"), role("", "other"), role("n", "setter"), role("m", "setter"),
		binding("", "a", "ClusterRole", "setter", person("jane")),
		binding("", "b", "ClusterRole", "other", person("jane"), person("bob")),
		binding("n", "c", "Role", "setter", person("jane")),
		binding("m", "d", "Role", "setter", person("jane")),
	)
	setter := protect.Reference{Kind: protect.ClusterRole, Name: "setter"}
	local := protect.Reference{Kind: protect.Role, Namespace: "n", Name: "setter"}
	clusterRole, aRole := selection.ClusterRole, selection.Role
	for _, tc := range []struct {
		who      string
		selects  *selection.SelectedAuthority
		ref      protect.Reference
		want     bool
		unclear  bool
		selected string
	}{
		{who: "jane", ref: setter, want: true},
		{who: "jane", selects: clusterRole("setter"), ref: setter, want: true},
		{who: "jane", selects: clusterRole("other"), ref: setter},
		{who: "jane", selects: clusterRole("none"), ref: setter},
		{who: "jane", selects: aRole("n", "setter"), ref: setter},
		{who: "bob", ref: setter},
		{who: "bob", selects: clusterRole("setter"), ref: setter},
		{who: "bob", selects: clusterRole("other"), ref: setter},
		{who: "jane", ref: local, want: true},
		{who: "jane", selects: aRole("n", "setter"), ref: local, want: true},
		{who: "jane", selects: aRole("m", "setter"), ref: local},
		{who: "jane", selects: clusterRole("setter"), ref: local},
		{who: "bob", selects: aRole("n", "setter"), ref: local},
		{who: "jane", selected: "nonsense", ref: setter, unclear: true},
	} {
		u := &user.DefaultInfo{Name: tc.who}
		if tc.selects != nil {
			text, err := tc.selects.Text()
			if err != nil {
				t.Fatal(err)
			}
			tc.selected = text
		}
		if tc.selected != "" {
			u.Extra = map[string][]string{selection.ExtraKey: {tc.selected}}
		}
		got, err := roles.Holds(t.Context(), u, tc.ref)
		if got != tc.want || (err != nil) != tc.unclear {
			t.Errorf("%s selecting %q holds %s: %t, error %v", tc.who, tc.selected, tc.ref, got, err)
		}
	}
}
