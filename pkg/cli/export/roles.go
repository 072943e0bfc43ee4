// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/roles"
)

// Roles are the roles, bindings and definitions of files.
type Roles struct {
	namespace string
	objects   []runtime.Object
	// attributes are the protected attributes, and entries the FieldPermissions.
	attributes []protect.Entry
	entries    []*overlay.Entries
	// Definitions have permissions that a stock server does not store.
	Definitions []*apiextensionsv1.CustomResourceDefinition
}

// NewRoles returns Roles without any. namespace is that of objects whose files name none.
func NewRoles(namespace string) *Roles { return &Roles{namespace: namespace} }

// Add adds the objects of a YAML or JSON file.
func (r *Roles) Add(file string, data []byte) error { return manifest.Each(file, data, r.add) }

func (r *Roles) add(found *manifest.Object) error {
	switch {
	case found.Kind == "CustomResourceDefinition":
		definition := &apiextensionsv1.CustomResourceDefinition{}
		r.Definitions = append(r.Definitions, definition)
		return found.Decode(definition)
	case found.APIVersion == v1alpha1.SchemeGroupVersion.String():
		return r.addAuthority(found)
	}
	object, err := roles.Decode(found, r.namespace)
	if err != nil {
		return err
	}
	if object == nil {
		return fmt.Errorf("%s: %s %s is no role, binding, definition, protected attribute or FieldPermission", found.File, found.Kind, found.Name)
	}
	switch o := object.(type) {
	case *rbacv1.Role:
		if err := parse(o.Name, o.Rules); err != nil {
			return err
		}
	case *rbacv1.RoleBinding:
		// RBAC looks for an account without a namespace in that of the binding.
		for i := range o.Subjects {
			if s := &o.Subjects[i]; s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "" {
				s.Namespace = o.Namespace
			}
		}
	case *rbacv1.ClusterRole:
		if err := parse(o.Name, o.Rules); err != nil {
			return err
		}
	}
	r.objects = append(r.objects, object)
	return nil
}

// parse returns an error for a permission verb that grants nothing because of a mistake.
func parse(role string, rules []rbacv1.PolicyRule) error {
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if !permission.IsVerb(verb) {
				continue
			}
			if _, err := permission.Parse(verb); err != nil {
				return fmt.Errorf("role %s: %q: %w", role, verb, err)
			}
		}
	}
	return nil
}

// roleKey identifies a role. namespace is "" for a ClusterRole.
type roleKey struct{ namespace, name string }

func (r *Roles) rulesByRole() map[roleKey][]rbacv1.PolicyRule {
	out := map[roleKey][]rbacv1.PolicyRule{}
	for _, object := range r.objects {
		switch o := object.(type) {
		case *rbacv1.Role:
			out[roleKey{o.Namespace, o.Name}] = o.Rules
		case *rbacv1.ClusterRole:
			out[roleKey{"", o.Name}] = o.Rules
		}
	}
	return out
}

// binding returns what an object binds, false if it is no binding.
func binding(object runtime.Object) (role roleKey, subjects []rbacv1.Subject, namespace string, ok bool) {
	switch o := object.(type) {
	case *rbacv1.RoleBinding:
		role = roleKey{o.Namespace, o.RoleRef.Name}
		if o.RoleRef.Kind == "ClusterRole" {
			role.namespace = ""
		}
		return role, o.Subjects, o.Namespace, true
	case *rbacv1.ClusterRoleBinding:
		return roleKey{"", o.RoleRef.Name}, o.Subjects, "", true
	}
	return role, nil, "", false
}

// bindUnbound binds the roles that no binding names to subjects. It returns an error for a role without a subject,
// and for a binding of a role that is not in the files: a policy must name every subject.
func (r *Roles) bindUnbound(subjects []rbacv1.Subject) error {
	rules, named := r.rulesByRole(), map[roleKey]bool{}
	for _, object := range r.objects {
		role, _, _, ok := binding(object)
		if _, known := rules[role]; ok && !known && !r.protects(role) {
			return fmt.Errorf("a binding names the role %s, which is not in the files", role.name)
		}
		named[role] = named[role] || ok
	}
	for _, object := range slices.Clone(r.objects) {
		var role roleKey
		var kind string
		switch o := object.(type) {
		case *rbacv1.Role:
			role, kind = roleKey{o.Namespace, o.Name}, "Role"
		case *rbacv1.ClusterRole:
			role, kind = roleKey{"", o.Name}, "ClusterRole"
		default:
			continue
		}
		if named[role] {
			continue
		}
		if len(subjects) == 0 {
			return fmt.Errorf("no binding in the files names the role %s: add its bindings, or use --subject", role.name)
		}
		r.objects = append(r.objects, roles.Binding(role.name, role.namespace, kind, role.name, subjects))
	}
	return nil
}

// bound returns all rules that a binding gives to somebody.
func (r *Roles) bound() []bound {
	rules := r.rulesByRole()
	var out []bound
	for _, object := range r.objects {
		if role, subjects, namespace, ok := binding(object); ok && len(subjects) > 0 {
			for _, rule := range rules[role] {
				out = append(out, bound{rule, subjects, namespace})
			}
		}
	}
	return out
}

var unnamed = regexp.MustCompile(`[^a-z0-9-]+`)

// name returns the beginning of the names of policies: the first role and, if there is more to tell apart, a hash of all.
func (r *Roles) name() string {
	var all []string
	for role := range r.rulesByRole() {
		all = append(all, role.namespace+"/"+role.name)
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	first := strings.TrimPrefix(all[0], "/")
	name := strings.Trim(unnamed.ReplaceAllString(strings.ToLower(first), "-"), "-")
	if len(all) == 1 && name == first {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(all, "\n")))
	return fmt.Sprintf("%s-%08x", name, h.Sum32())
}
