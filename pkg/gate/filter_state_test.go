// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/informers"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/pkg/rbacindex"
)

// looking counts how many cluster roles RBAC reads.
type looking struct {
	granular.ClusterRoleGetter
	got int
}

func (l *looking) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	l.got++
	return l.ClusterRoleGetter.GetClusterRole(ctx, name)
}

// sized returns a role that allows the given verbs on things.
func sized(verbs ...string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "things"},
		Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{"example.com"}, Resources: []string{"things"}}}}
}

// janesBinding binds the user jane to the role that sized returns.
var janesBinding = &rbacv1.ClusterRoleBinding{
	ObjectMeta: metav1.ObjectMeta{Name: "janes"},
	Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "jane"}},
	RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "things"},
}

// passedFilter returns a Gate over RBAC, and the context of a request of jane that the filter let
// through.
func passedFilter(t *testing.T, role *rbacv1.ClusterRole) (gate *Gate, v1 rbacinformers.Interface, clusterRoles *looking, request context.Context) {
	t.Helper()
	v1 = informers.NewSharedInformerFactory(fake.NewClientset(), 0).Rbac().V1()
	if err := v1.ClusterRoles().Informer().GetStore().Add(role); err != nil {
		t.Fatal(err)
	}
	if err := v1.ClusterRoleBindings().Informer().GetStore().Add(janesBinding); err != nil {
		t.Fatal(err)
	}
	clusterRoles = &looking{ClusterRoleGetter: &rbac.ClusterRoleGetter{Lister: v1.ClusterRoles().Lister()}}
	gate = New(rbac.New(&roles{}, rbacindex.Listers{}.Role(v1.RoleBindings().Informer(), nil),
		rbacindex.Listers{}.ClusterRoles(v1.ClusterRoles().Informer(), clusterRoles),
		rbacindex.Listers{}.ClusterRole(v1.ClusterRoleBindings().Informer(), nil)))
	ctx := requestContext("update")
	a := attributes("update")
	a.User, _ = apirequest.UserFrom(ctx)
	marked, decision, _, err := gate.Fallback(ctx, &a)
	if decision != upstream.DecisionAllow || err != nil {
		t.Fatal(decision, err)
	}
	clusterRoles.got = 0
	return gate, v1, clusterRoles, marked
}

// TestBetweenFilterAndVerification checks that a granular request is verified with the bindings
// and roles at the time of the verification, not with those at the time of the filter. If they
// did not change in between, RBAC does not read them again.
func TestBetweenFilterAndVerification(t *testing.T) {
	for name, tc := range map[string]struct {
		before *rbacv1.ClusterRole
		change func(rbac rbacinformers.Interface) error
		says   string
		got    int
	}{
		"nothing": {before: sized("granular", "granular:size")},
		"a binding goes": {before: sized("granular", "granular:size"), says: `needs one of the verbs`, change: func(rbac rbacinformers.Interface) error {
			return rbac.ClusterRoleBindings().Informer().GetStore().Delete(janesBinding)
		}},
		"all bindings go at once": {before: sized("granular", "granular:size"), says: `needs one of the verbs`, change: func(rbac rbacinformers.Interface) error {
			return rbac.ClusterRoleBindings().Informer().GetStore().Replace(nil, "2")
		}},
		"a permission goes": {before: sized("granular", "granular:size"), says: `needs one of the verbs`, got: 1, change: func(rbac rbacinformers.Interface) error {
			return rbac.ClusterRoles().Informer().GetStore().Update(sized("granular"))
		}},
		"a permission comes": {before: sized("granular"), got: 1, change: func(rbac rbacinformers.Interface) error {
			return rbac.ClusterRoles().Informer().GetStore().Update(sized("granular", "granular:size"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			gate, v1, clusterRoles, marked := passedFilter(t, tc.before)
			if tc.change != nil {
				if err := tc.change(v1); err != nil {
					t.Fatal(err)
				}
			}
			w := gate.Begin(marked, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
			if err := w.Observe(marked, object(t, larger), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(marked, object(t, larger), object(t, plain)), granular.MarkerFrom(marked), tc.says)
			if clusterRoles.got != tc.got {
				t.Errorf("got %d roles, wanted %d", clusterRoles.got, tc.got)
			}
		})
	}
}

// TestBetweenAttempts checks two attempts to store a change. The second attempt keeps the
// decisions of the first. For new verbs it uses the bindings and roles at the time of the second
// attempt.
func TestBetweenAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after *rbacv1.ClusterRole
		says          string
	}{
		"nothing": {before: sized("granular", "granular:size", "granular:trigger")},
		"a permission goes": {before: sized("granular", "granular:size", "granular:trigger"),
			after: sized("granular", "granular:size"), says: `needs the verb "granular:trigger"`},
		"a permission comes": {before: sized("granular", "granular:size"),
			after: sized("granular", "granular:size", "granular:trigger")},
	} {
		t.Run(name, func(t *testing.T) {
			gate, v1, _, marked := passedFilter(t, tc.before)
			w := gate.Begin(marked, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
			attempt := func(change, says string) {
				t.Helper()
				if err := w.Observe(marked, object(t, change), object(t, plain)); err != nil {
					t.Fatal(err)
				}
				judged(t, w.Verify(marked, object(t, change), object(t, plain)), granular.MarkerFrom(marked), says)
			}
			attempt(larger, "")
			if tc.after != nil {
				if err := v1.ClusterRoles().Informer().GetStore().Update(tc.after); err != nil {
					t.Fatal(err)
				}
			}
			attempt(both, tc.says)
		})
	}
}
