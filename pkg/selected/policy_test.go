// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"os"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/granular"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/authorization/union"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

func TestMain(m *testing.M) {
	seam.Install(func() seam.Selection { return installed{} })
	granular.InstallBindings(func() granular.Bindings { return rbacindex.Listers{} })
	os.Exit(m.Run())
}

// installed is a Selection of a server that makes no final checks of writes.
type installed struct{ Selection }

func (installed) Commit(context.Context, bool) seam.Commit { return nil }

// objects are the roles and bindings that RBAC reads, with the same listers and getters as in a
// server.
type objects struct {
	roles, clusterRoles, roleBindings, clusterRoleBindings cache.SharedIndexInformer
	rbac                                                   *rbac.RBACAuthorizer
	resolver                                               *validation.DefaultRuleResolver
	readers                                                seam.Policy
}

// policy returns the roles and bindings in the form in which Selection.Visit gets them.
func (p *objects) policy() seam.Policy { return p.readers }

func informer(of runtime.Object) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func newPolicy() *objects {
	p := &objects{
		roles: informer(&rbacv1.Role{}), clusterRoles: informer(&rbacv1.ClusterRole{}),
		roleBindings: informer(&rbacv1.RoleBinding{}), clusterRoleBindings: informer(&rbacv1.ClusterRoleBinding{}),
	}
	roles := granular.Roles(p.roles, &rbac.RoleGetter{Lister: rbaclisters.NewRoleLister(p.roles.GetIndexer())})
	clusterRoles := granular.ClusterRoles(p.clusterRoles, &rbac.ClusterRoleGetter{Lister: rbaclisters.NewClusterRoleLister(p.clusterRoles.GetIndexer())})
	roleBindings := granular.RoleBindings(p.roleBindings, &rbac.RoleBindingLister{Lister: rbaclisters.NewRoleBindingLister(p.roleBindings.GetIndexer())})
	clusterRoleBindings := granular.ClusterRoleBindings(p.clusterRoleBindings, &rbac.ClusterRoleBindingLister{Lister: rbaclisters.NewClusterRoleBindingLister(p.clusterRoleBindings.GetIndexer())})
	p.rbac = rbac.New(roles, roleBindings, clusterRoles, clusterRoleBindings)
	p.resolver = validation.NewDefaultRuleResolver(roles, roleBindings, clusterRoles, clusterRoleBindings)
	p.readers = seam.Policy{RoleGetter: roles, RoleBindingLister: roleBindings, ClusterRoleGetter: clusterRoles, ClusterRoleBindingLister: clusterRoleBindings}
	return p
}

func put(t testing.TB, in cache.SharedIndexInformer, objects ...any) {
	t.Helper()
	for _, object := range objects {
		if err := in.GetStore().Add(object); err != nil {
			t.Fatal(err)
		}
	}
}

// chain is a configured union of authorizers. Its method RBAC returns rbac, which is nil in a
// test without RBAC.
type chain struct {
	authorizer.Authorizer
	authorizer.RuleResolver
	rbac authorizer.Authorizer
}

func (c chain) RBAC() authorizer.Authorizer { return c.rbac }

// chained returns a chain of the authorizer for system:masters and the given authorizers, in
// their order.
func chained(t testing.TB, rbac authorizer.Authorizer, of ...authorizer.Authorizer) chain {
	t.Helper()
	named := []union.NamedAuthorizer{{AuthorizerName: "privileged", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)}}
	var resolvers []authorizer.RuleResolver
	for i, a := range of {
		named = append(named, union.NamedAuthorizer{AuthorizerName: string(rune('a' + i)), Authorizer: a})
		if r, ok := a.(authorizer.RuleResolver); ok {
			resolvers = append(resolvers, r)
		}
	}
	all, err := union.New(named...)
	if err != nil {
		t.Fatal(err)
	}
	return chain{all, union.NewRuleResolvers(resolvers...), rbac}
}

// opinion is an authorizer that stands before or after RBAC in a chain, and decides by a
// function.
type opinion func(authorizer.Attributes) authorizer.Decision

func (o opinion) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return o(a), "an opinion", nil
}

func (o opinion) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(o.Authorize(ctx, a))
}

func (o opinion) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

func always(d authorizer.Decision) opinion {
	return func(authorizer.Attributes) authorizer.Decision { return d }
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules}
}

func clusterBinding(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
}

func binding(namespace, name, kind, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}}
}

func named(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
}

func rule(verbs, groups, resources, names []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
}

// on returns a rule for one verb on resources of the core group.
func on(verb string, resources ...string) rbacv1.PolicyRule {
	return rule([]string{verb}, []string{""}, resources, nil)
}

// selecting returns the *User that the handler makes of a user who selects s.
func selecting(t testing.TB, u user.Info, s *selection.SelectedAuthority) *User {
	t.Helper()
	out, err := newUser(u, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// told returns a user who selects s in the form that comes from another process: with the
// selection as an extra attribute only.
func told(t testing.TB, u user.Info, s *selection.SelectedAuthority) user.Info {
	t.Helper()
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups(),
		Extra: selecting(t, u, s).GetExtra()}
}

func ask(u user.Info, verb, namespace, resource string) *authorizer.AttributesRecord {
	return &authorizer.AttributesRecord{User: u, Verb: verb, Namespace: namespace, Resource: resource,
		ResourceRequest: true}
}
