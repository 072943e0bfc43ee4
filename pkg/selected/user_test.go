// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// TestMemberUser checks who is looked for in the bindings of a role: any caller who selected nothing, and of those who
// selected an authority only one who selected this very role.
func TestMemberUser(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane", Groups: []string{user.SystemPrivilegedGroup}}
	local := selecting(t, jane, selection.Role("n", "setter"))
	everywhere := selecting(t, jane, selection.ClusterRole("setter"))
	for name, tc := range map[string]struct {
		u                     user.Info
		kind, namespace, role string
		member                user.Info
		ask, fails            bool
	}{
		"no user":                     {nil, "ClusterRole", "", "setter", nil, true, false},
		"nothing selected":            {jane, "ClusterRole", "", "setter", jane, true, false},
		"this cluster role":           {everywhere, "ClusterRole", "", "setter", jane, true, false},
		"another cluster role":        {everywhere, "ClusterRole", "", "other", nil, false, false},
		"a cluster role, not a role":  {everywhere, "Role", "", "setter", nil, false, false},
		"this role":                   {local, "Role", "n", "setter", jane, true, false},
		"another role":                {local, "Role", "n", "other", nil, false, false},
		"a role of another namespace": {local, "Role", "m", "setter", nil, false, false},
		"a role, not a cluster role":  {local, "ClusterRole", "n", "setter", nil, false, false},
		"nonsense":                    {&user.DefaultInfo{Name: "jane", Extra: map[string][]string{selection.ExtraKey: {"nonsense"}}}, "ClusterRole", "", "setter", nil, false, true},
		"two selections":              {&user.DefaultInfo{Name: "jane", Extra: map[string][]string{selection.ExtraKey: {"a", "b"}}}, "ClusterRole", "", "setter", nil, false, true},
	} {
		member, ask, err := MemberUser(tc.u, tc.kind, tc.namespace, tc.role)
		if member != tc.member || ask != tc.ask || (err != nil) != tc.fails {
			t.Errorf("%s: %v, %t, %v", name, member, ask, err)
		}
	}
}

// TestSelects checks who has a selection. An invalid one counts, so that it is refused.
func TestSelects(t *testing.T) {
	for name, tc := range map[string]struct {
		u    user.Info
		want bool
	}{
		"no user":    {nil, false},
		"none":       {&user.DefaultInfo{Name: "jane"}, false},
		"a role":     {selecting(t, &user.DefaultInfo{Name: "jane"}, selection.ClusterRole("x")), true},
		"an invalid": {&user.DefaultInfo{Extra: map[string][]string{selection.ExtraKey: nil}}, true},
	} {
		if Selects(tc.u) != tc.want {
			t.Errorf("%s: %t, want %t", name, !tc.want, tc.want)
		}
	}
}

// TestLongRunning checks which requests end when their delegation does.
func TestLongRunning(t *testing.T) {
	for _, tc := range []struct {
		verb, subresource string
		want              bool
	}{
		{"get", "", false}, {"list", "", false}, {"watch", "", true}, {"proxy", "", true}, {"get", "proxy", true}, {"get", "log", true}, {"create", "exec", true},
		{"create", "attach", true}, {"create", "portforward", true}, {"get", "status", false}, {"create", "eviction", false},
	} {
		if got := isLongRunning(&request.RequestInfo{Verb: tc.verb, Subresource: tc.subresource}); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
}

// TestForbidden checks the errors of refusals: a 503 if it is not known whether the delegator exists, and else a 403
// that names the object. Each is recorded for the audit log.
func TestForbidden(t *testing.T) {
	info := &request.RequestInfo{IsResourceRequest: true, APIGroup: "apps", Resource: "deployments", Name: "web"}
	for name, tc := range map[string]struct {
		reason delegation.Reason
		info   *request.RequestInfo
		is     func(error) bool
		says   string
	}{
		"not held":      {delegation.NotHeld, info, apierrors.IsForbidden, `deployments.apps "web" is forbidden: why`},
		"not known":     {delegation.DelegatorUnknown, info, apierrors.IsServiceUnavailable, "why"},
		"of no request": {delegation.NotHeld, nil, apierrors.IsForbidden, "forbidden: why"},
	} {
		ctx := t.Context()
		if tc.info != nil {
			ctx = request.WithRequestInfo(ctx, tc.info)
		}
		u := selecting(t, &user.DefaultInfo{Name: "jane"}, selection.ClusterRole("x"))
		refusal := &delegation.Refusal{Reason: tc.reason, Message: "why"}
		if err := Forbidden(ctx, u, refusal); !tc.is(err) || err.Error() != tc.says && tc.info != nil || u.refused.Load() != refusal {
			t.Errorf("%s: %v", name, err)
		}
	}
}
