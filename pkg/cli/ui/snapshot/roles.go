// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/ui/model"
	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/rolecheck"
)

// addRoles adds the roles and their rules.
func (m *maker) addRoles(input *Input) {
	for _, r := range input.ClusterRoles {
		role := model.Role{Namespace: model.None, Name: r.Name, Rules: model.None}
		if r.AggregationRule != nil && !input.About.Live {
			// The server gathers the rules. In a file they may be old, or none.
			role.State = model.NotRead
			m.out.Unknown = append(m.out.Unknown, model.Unknown{What: model.UnknownClusterRoles, Of: r.Name,
				Why: "the server gathers its rules from other roles, so a file does not tell them"})
		} else {
			role.Rules = m.rulesOf(r.Rules)
		}
		m.role(roleKey{"", r.Name}, role)
	}
	for _, r := range input.Roles {
		m.role(roleKey{r.Namespace, r.Name}, model.Role{Namespace: m.namespace(r.Namespace), Name: r.Name, Rules: m.rulesOf(r.Rules)})
	}
}

func (m *maker) role(key roleKey, role model.Role) int {
	if i, ok := m.roles[key]; ok {
		return i
	}
	m.roles[key] = len(m.out.Roles)
	m.out.Roles = append(m.out.Roles, role)
	return m.roles[key]
}

// roleOf returns the index of the role that a binding in a namespace refers to. A role that was not
// collected is missing, or not known if roles could not be read.
func (m *maker) roleOf(kind, name, namespace string) int {
	key := roleKey{namespace, name}
	what := model.UnknownRoles
	if kind == "ClusterRole" {
		key.namespace, what = "", model.UnknownClusterRoles
	}
	if i, ok := m.roles[key]; ok {
		return i
	}
	state := model.Missing
	if !m.out.About.Live || m.isUnknown(what, key.namespace) { // files need not be complete
		state = model.NotRead
	}
	return m.role(key, model.Role{Namespace: m.namespace(key.namespace), Name: name, Rules: model.None, State: state})
}

// isUnknown reports whether something could not be read in a namespace.
func (m *maker) isUnknown(what, namespace string) bool {
	for i := range m.out.Unknown {
		if u := &m.out.Unknown[i]; u.What == what && u.Of == "" {
			known := false
			for _, except := range u.Except {
				known = known || except == namespace
			}
			if !known {
				return true
			}
		}
	}
	return false
}

// rulesOf returns the index of a list of rules.
func (m *maker) rulesOf(rules []rbacv1.PolicyRule) int {
	var kept []rbacv1.PolicyRule
	for i := range rules {
		if len(rules[i].Resources) > 0 { // others are about paths, such as /metrics
			kept = append(kept, rules[i])
		}
	}
	if kept == nil {
		kept = []rbacv1.PolicyRule{}
	}
	return intern(m.rules, &m.out.Rules, model.Rules{Rules: kept, Powers: powersOf(kept), Metadata: metadataOf(kept), Bypass: bypasses(kept)})
}

// powersOf returns the rights of rules by which a holder can get more rights.
func powersOf(rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, power := range []struct {
		verb, group string
		resources   []string
	}{
		{"escalate", rbacv1.GroupName, []string{"clusterroles", "roles"}},
		{"bind", rbacv1.GroupName, []string{"clusterroles", "roles"}},
		{"impersonate", "", []string{"users", "groups", "serviceaccounts"}},
	} {
		if slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return slices.ContainsFunc(power.resources, func(resource string) bool {
				return access.Grants(rule, power.verb, access.Target{Group: power.group, Resource: resource, AnyName: true})
			})
		}) {
			out = append(out, power.verb)
		}
	}
	return out
}

// metadataOf returns the resources whose objects rules allow to read without data.
func metadataOf(rules []rbacv1.PolicyRule) []string {
	var out []string
	for i := range rules {
		if !slices.Contains(rules[i].Verbs, included.MetadataVerb) {
			continue
		}
		for _, resource := range rolecheck.Resources(&rules[i]) {
			if !slices.Contains(out, resource) {
				out = append(out, resource)
			}
		}
	}
	return out
}

// bypasses reports whether rules exempt a holder from protected labels and annotations.
func bypasses(rules []rbacv1.PolicyRule) bool {
	target := access.Target{Group: v1alpha1.GroupName, Resource: "protectedattributes"}
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return len(r.ResourceNames) == 0 && access.Grants(r, "bypass", target)
	})
}

// addBindings adds the bindings and their subjects.
func (m *maker) addBindings(input *Input) {
	about := &m.out.About
	about.Masters = m.subject(rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "system:masters"}, "")
	for _, b := range input.ClusterRoleBindings {
		m.bind(b.Name, "", b.RoleRef, b.Subjects)
	}
	for _, b := range input.RoleBindings {
		m.bind(b.Name, b.Namespace, b.RoleRef, b.Subjects)
	}
}

func (m *maker) bind(name, namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	b := model.Binding{intern(m.names, &m.out.Names, name), m.namespace(namespace), m.roleOf(ref.Kind, ref.Name, namespace)}
	for _, s := range subjects {
		b = append(b, m.subject(s, namespace))
	}
	m.out.Bindings = append(m.out.Bindings, b)
}

// addGroups sets the groups that each subject is certainly in, of those that are bound.
func (m *maker) addGroups() {
	group := func(name string) int {
		if i, ok := m.subjects[rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name}]; ok {
			return i
		}
		return model.None
	}
	m.out.About.Authenticated, m.out.About.Accounts = group("system:authenticated"), group("system:serviceaccounts")
	for i := range m.out.Subjects {
		s := &m.out.Subjects[i]
		_, names := access.Identity(rbacv1.Subject{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
		for _, name := range names {
			if g := group(name); g != model.None && g != i {
				s.Groups = append(s.Groups, g)
			}
		}
	}
}

// addDelegations adds the delegations and their rules.
func (m *maker) addDelegations(input *Input) {
	for _, d := range input.Delegations {
		rules := d.Status.Rules
		if len(rules) == 0 {
			rules = d.Spec.Rules
		}
		out := model.Delegation{
			Name: d.Name, Delegator: d.Status.Delegator.Username, Namespace: m.namespace(d.Spec.Scope.Namespace), Rules: m.rulesOf(rules),
			Delegates: []int{}, Conditional: len(d.Spec.Conditions) > 0,
		}
		if end := d.Status.ExpirationTimestamp; end != nil {
			out.Expires = end.UTC().Format(timeFormat)
		}
		for _, delegate := range d.Spec.Delegates {
			subject := rbacv1.Subject{Kind: string(delegate.Kind), Namespace: delegate.Namespace, Name: delegate.Name}
			out.Delegates = append(out.Delegates, m.subject(subject, ""))
		}
		m.out.Delegations = append(m.out.Delegations, out)
	}
}

// addDelegationsToKinds adds to each kind the delegations that change it. It is called when the cells are
// known.
func (m *maker) addDelegationsToKinds() {
	for i := range m.out.Delegations {
		d := &m.out.Delegations[i]
		cells := m.out.Rules[d.Rules].Cells
		for j := 0; j < len(cells); j += 2 {
			if k := &m.out.Kinds[cells[j]]; k.Namespaced || d.Namespace == model.None {
				k.Delegations = append(k.Delegations, i)
			}
		}
	}
}

const timeFormat = "2006-01-02T15:04:05Z"
