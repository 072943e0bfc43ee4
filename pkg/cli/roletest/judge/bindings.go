// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// role is a Role or ClusterRole of a test.
type role struct {
	object *format.Object
	rules  []rbacv1.PolicyRule
	// gathers is true if the rules come from other roles.
	gathers bool
}

// binding is a binding of a test.
type binding struct {
	object   *format.Object
	ref      rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// rbac are the roles, bindings, delegations and policies of a test.
type rbac struct {
	roles    []*role
	bindings []*binding
	// delegations are the delegates of each delegation. Their fields are those of subjects.
	delegations map[string][]rbacv1.Subject
	policies    []policy
}

// policy is a policy that makes delegations.
type policy struct {
	name      string
	delegates []rbacv1.Subject
}

// rbacOf returns the roles, bindings and delegations among objects that the server accepted.
func rbacOf(objects []format.Object) (*rbac, error) {
	out := &rbac{delegations: map[string][]rbacv1.Subject{}}
	for i := range objects {
		o := &objects[i]
		if group := o.GroupVersionKind().Group; group != rbacv1.GroupName && group != v1alpha1.GroupName {
			continue
		}
		switch o.GetKind() {
		case "AuthorityDelegation", policyKind:
			var typed struct {
				Spec struct {
					Delegates []rbacv1.Subject `json:"delegates"`
				} `json:"spec"`
			}
			if err := convert(o.Unstructured, &typed); err != nil {
				return nil, err
			}
			if isPolicy(o) {
				out.policies = append(out.policies, policy{o.GetName(), typed.Spec.Delegates})
				continue
			}
			out.delegations[o.GetName()] = typed.Spec.Delegates
		case "Role", "ClusterRole":
			// A ClusterRole has all fields of a Role.
			var typed rbacv1.ClusterRole
			if err := convert(o.Unstructured, &typed); err != nil {
				return nil, err
			}
			out.roles = append(out.roles, &role{o, typed.Rules, typed.AggregationRule != nil})
		case "RoleBinding", "ClusterRoleBinding":
			var typed rbacv1.RoleBinding
			if err := convert(o.Unstructured, &typed); err != nil {
				return nil, err
			}
			out.bindings = append(out.bindings, &binding{o, typed.RoleRef, typed.Subjects})
		}
	}
	return out, nil
}

func convert(o *unstructured.Unstructured, typed any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed)
}

// isOneOf reports whether a list of subjects or delegates names a subject or one of its groups.
func isOneOf(s *format.Subject, all []rbacv1.Subject) bool {
	caller := rbacv1.Subject{Kind: rbacv1.UserKind, Name: s.User}
	if s.ServiceAccount != "" {
		caller.Kind = rbacv1.ServiceAccountKind
		caller.Namespace, caller.Name = split(s.ServiceAccount)
	}
	name, groups := access.Identity(caller)
	groups = append(groups, s.Groups...)
	return slices.ContainsFunc(all, func(subject rbacv1.Subject) bool { return access.IsSubject(subject, "", name, groups) })
}

func (b *binding) names(s *format.Subject) bool { return isOneOf(s, b.subjects) }

// check returns an error if the test gives a subject nothing that it could use. A request of it would be
// refused whatever the roles are, for example because of a misspelt name.
func (r *rbac) check(s *format.Subject) error {
	selects := s.Selects
	switch {
	case s.Stamp != nil:
		return r.checkStamp(s)
	case selects == nil:
		if !slices.ContainsFunc(r.bindings, func(b *binding) bool { return b.names(s) }) {
			return errors.New("no binding in given names the subject or one of its groups")
		}
	case selects.Kind == selection.AuthorityDelegationKind:
		delegates, ok := r.delegations[selects.Name]
		if !ok {
			return fmt.Errorf("the delegation %s is not in given", selects.Name)
		}
		if !isOneOf(s, delegates) {
			return fmt.Errorf("the subject is not a delegate of the delegation %s", selects.Name)
		}
	default:
		if !slices.ContainsFunc(r.bindings, func(b *binding) bool {
			return b.names(s) && b.isAbout(string(selects.Kind), selects.Namespace, selects.Name)
		}) {
			return fmt.Errorf("no binding in given gives the subject the selected %s", selects)
		}
	}
	return nil
}

// isAbout reports whether a binding is about a role.
func (b *binding) isAbout(kind, namespace, name string) bool {
	return b.ref.Kind == kind && b.ref.Name == name && (kind == "ClusterRole" || b.object.GetNamespace() == namespace)
}

// refersTo reports whether a binding is about a role of the test.
func (b *binding) refersTo(r *role) bool {
	return b.isAbout(r.object.GetKind(), r.object.GetNamespace(), r.object.GetName())
}
