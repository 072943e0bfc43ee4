// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"cmp"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/pkg/cli/roles"
)

// RoleName returns a name for the roles of a subject. It ends in the hash of the subject, because what is left of two subjects in
// a name can be the same. It does not depend on the rules, so that a longer log widens the roles that exist.
func (s *Subject) RoleName() string {
	parts := []string{"learned"}
	if s.Subject.Namespace != "" {
		parts = append(parts, s.Subject.Namespace)
	}
	parts = append(parts, s.Subject.Name)
	name := strings.NewReplacer(":", "-", "/", "-", "%", "-").Replace(strings.Join(parts, "-"))
	return roles.NameFor(name, []rbacv1.Subject{s.Subject})
}

// Objects returns a role with the rules of the grant, and its bindings. If the grant has several
// namespaces, the role is one ClusterRole with a RoleBinding in each namespace.
func (g *Grant) Objects(name string, subject rbacv1.Subject) []runtime.Object {
	grant := roles.Grant{}
	for _, r := range g.Rules {
		grant.Rules = append(grant.Rules, r.PolicyRule)
	}
	subjects := []rbacv1.Subject{subject}
	if len(g.Namespaces) < 2 {
		if len(g.Namespaces) == 1 {
			grant.Namespace = g.Namespaces[0]
		}
		return grant.Objects(name, subjects)
	}
	name += "-in-" + g.Namespaces[0]
	out := grant.Objects(name, nil)
	for _, namespace := range g.Namespaces {
		out = append(out, roles.Binding(name, namespace, "ClusterRole", name, subjects))
	}
	return out
}

// Where describes the namespaces of a grant.
func (g *Grant) Where() string {
	return cmp.Or(strings.Join(g.Namespaces, ","), "all namespaces")
}
