// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"cmp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	rbacinformers "k8s.io/client-go/informers/rbac/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
	rbacv1helpers "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// Roles reads the roles and bindings of RBAC from informers, even if RBAC is not a configured authorizer.
type Roles struct {
	roles           rbaclisters.RoleLister
	clusterRoles    rbaclisters.ClusterRoleLister
	bindings        rbaclisters.RoleBindingLister
	clusterBindings rbaclisters.ClusterRoleBindingLister
	synced          []cache.InformerSynced
}

// NewRoles returns Roles that read from informers, which must not have started, and calls changed after
// each change.
func NewRoles(informers rbacinformers.Interface, changed func()) (*Roles, error) {
	r := &Roles{
		roles: informers.Roles().Lister(), clusterRoles: informers.ClusterRoles().Lister(),
		bindings: informers.RoleBindings().Lister(), clusterBindings: informers.ClusterRoleBindings().Lister(),
	}
	for _, informer := range []cache.SharedIndexInformer{
		informers.Roles().Informer(), informers.ClusterRoles().Informer(),
		informers.RoleBindings().Informer(), informers.ClusterRoleBindings().Informer(),
	} {
		r.synced = append(r.synced, informer.HasSynced)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// WaitForSync waits until all roles and bindings are read, and reports whether they are. It returns false
// if done is closed before.
func (r *Roles) WaitForSync(done <-chan struct{}) bool {
	return cache.WaitForCacheSync(done, r.synced...)
}

// Grants are those grants of the roles at one moment that matter to FieldPermissions.
type Grants []grant

// grant is what one binding grants.
type grant struct {
	subjects []v1alpha1.Subject
	rules    []rbacv1.PolicyRule
}

// Grants returns the grants of all bindings that name a permission with a domain, or all verbs.
func (r *Roles) Grants() (Grants, error) {
	var out Grants
	add := func(namespace string, subjects []rbacv1.Subject, rules []rbacv1.PolicyRule) {
		if rules = slices.DeleteFunc(slices.Clone(rules), irrelevant); len(rules) > 0 {
			out = append(out, grant{subjectsOf(namespace, subjects), rules})
		}
	}
	everywhere, err := r.clusterBindings.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, b := range everywhere {
		if role, err := r.clusterRoles.Get(b.RoleRef.Name); err == nil {
			add("", b.Subjects, role.Rules)
		}
	}
	bindings, err := r.bindings.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, b := range bindings {
		if b.RoleRef.Kind == "ClusterRole" {
			if role, err := r.clusterRoles.Get(b.RoleRef.Name); err == nil {
				add(b.Namespace, b.Subjects, role.Rules)
			}
		} else if role, err := r.roles.Roles(b.Namespace).Get(b.RoleRef.Name); err == nil {
			add(b.Namespace, b.Subjects, role.Rules)
		}
	}
	return out, nil
}

// irrelevant reports whether a rule grants neither all verbs nor a permission with a domain.
func irrelevant(rule rbacv1.PolicyRule) bool {
	return !slices.ContainsFunc(rule.Verbs, func(verb string) bool {
		return verb == rbacv1.VerbAll || strings.HasPrefix(verb, "granular:") && strings.Contains(verb, "/")
	})
}

// Holders returns the subjects to which a role grants the permission of an entry by its name, each once, in
// order: on the resource or, with the prefix of pod templates, where entries of pods hold too.
func (g Grants) Holders(entries *overlay.Entries, name string) []v1alpha1.Subject {
	resources := resourcesOf(entries)
	return g.subjects(func(rule *rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, entry.Verb(name)) && matches(rule, resources[:1]) ||
			slices.Contains(rule.Verbs, entry.Verb(overlay.TemplatePermission(name))) && matches(rule, resources[1:])
	})
}

// NotHeld returns the subjects to which a role grants all verbs on a resource in which entries hold, each
// once, in order. Members of system:masters, whom no FieldPermission stops anyway, are left out.
func (g Grants) NotHeld(entries *overlay.Entries) []v1alpha1.Subject {
	masters, resources := v1alpha1.Subject{Kind: rbacv1.GroupKind, Name: user.SystemPrivilegedGroup}, resourcesOf(entries)
	all := g.subjects(func(rule *rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, rbacv1.VerbAll) && matches(rule, resources)
	})
	return slices.DeleteFunc(all, func(s v1alpha1.Subject) bool { return s == masters })
}

// resourcesOf returns the resources in which entries hold. The first one is that of their FieldPermission.
func resourcesOf(entries *overlay.Entries) []schema.GroupResource {
	out := []schema.GroupResource{schema.GroupResource(validation.ResourceOf(entries.Source))}
	if out[0] == overlay.Pods {
		for _, resource := range overlay.HoldsIn() {
			if overlay.InForce(resource, nil, entries) != nil {
				out = append(out, resource)
			}
		}
	}
	return out
}

// matches reports whether a rule is for one of some resources.
func matches(rule *rbacv1.PolicyRule, resources []schema.GroupResource) bool {
	return slices.ContainsFunc(resources, func(r schema.GroupResource) bool {
		return rbacv1helpers.APIGroupMatches(rule, r.Group) && rbacv1helpers.ResourceMatches(rule, r.Resource, "")
	})
}

func (g Grants) subjects(grants func(*rbacv1.PolicyRule) bool) (out []v1alpha1.Subject) {
	seen := map[v1alpha1.Subject]bool{}
	for _, one := range g {
		if !slices.ContainsFunc(one.rules, func(rule rbacv1.PolicyRule) bool { return grants(&rule) }) {
			continue
		}
		for _, s := range one.subjects {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.Subject) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// subjectsOf returns the subjects of a binding in a namespace. As in RBAC, a service account without a
// namespace is in the namespace of the binding.
func subjectsOf(namespace string, subjects []rbacv1.Subject) (out []v1alpha1.Subject) {
	for _, s := range subjects {
		subject := v1alpha1.Subject{Kind: s.Kind, Name: s.Name}
		if s.Kind == rbacv1.ServiceAccountKind {
			if subject.Namespace = cmp.Or(s.Namespace, namespace); subject.Namespace == "" {
				continue
			}
		}
		out = append(out, subject)
	}
	return out
}
