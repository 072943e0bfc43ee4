// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/cli/ui/model"
)

// Make makes a snapshot. It returns an error if a definition can't be read.
func Make(input *Input) (*model.Snapshot, error) {
	m := newMaker(input)
	if err := m.addKinds(input); err != nil {
		return nil, err
	}
	m.addRoles(input)
	m.addProtected(input)
	m.addBindings(input)
	m.addDelegations(input)
	m.addCells()
	m.addDelegationsToKinds()
	m.addGroups()
	m.out.Tenants = slices.SortedFunc(slices.Values(input.Tenants), func(a, b model.Tenant) int { return strings.Compare(a.Name, b.Name) })
	return m.out, m.out.Validate()
}

// maker makes one snapshot.
type maker struct {
	out        *model.Snapshot
	texts      map[string]int
	names      map[string]int
	namespaces map[string]int
	verbs      map[string]int
	fields     map[string]int
	subjects   map[rbacv1.Subject]int
	rules      map[string]int
	cells      map[string]int
	roles      map[roleKey]int
	// targets are the kinds in the form that rules are compared with.
	targets []target
}

// roleKey names a role. The namespace of a ClusterRole is "".
type roleKey struct{ namespace, name string }

func newMaker(input *Input) *maker {
	m := &maker{
		out: &model.Snapshot{
			Version: model.Version, About: input.About, Unknown: append([]model.Unknown{}, input.Unknown...),
			Verbs: []model.Verb{}, Fields: []model.Field{}, Kinds: []model.Kind{}, Subjects: []model.Subject{}, Rules: []model.Rules{},
			Cells: []model.Cell{}, Roles: []model.Role{}, Bindings: []model.Binding{}, Delegations: []model.Delegation{},
			Protected: []model.Protected{}, Denials: []model.Denial{}, Names: []string{},
		},
		texts: map[string]int{}, names: map[string]int{}, namespaces: map[string]int{}, verbs: map[string]int{},
		fields: map[string]int{}, subjects: map[rbacv1.Subject]int{},
		rules: map[string]int{}, cells: map[string]int{}, roles: map[roleKey]int{},
	}
	intern(m.texts, &m.out.Texts, "")
	m.out.Namespaces = namespacesOf(input)
	for i, name := range m.out.Namespaces {
		m.namespaces[name] = i
	}
	return m
}

// namespacesOf returns the namespaces that are known and those that anything names, sorted.
func namespacesOf(input *Input) []string {
	all := append([]string{}, input.Namespaces...)
	for _, r := range input.Roles {
		all = append(all, r.Namespace)
	}
	for _, b := range input.RoleBindings {
		all = append(all, b.Namespace)
	}
	for _, d := range input.Delegations {
		all = append(all, d.Spec.Scope.Namespace)
	}
	for i := range input.Attributes {
		all = append(all, input.Attributes[i].Namespace)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// namespace returns the index of a namespace, or None for "".
func (m *maker) namespace(name string) int {
	if i, ok := m.namespaces[name]; ok {
		return i
	}
	return model.None
}

// intern returns the index of a value in a list in which equal values, by their JSON, stand once.
func intern[T any](known map[string]int, list *[]T, value T) int {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the types of model have JSON
	}
	if i, ok := known[string(text)]; ok {
		return i
	}
	known[string(text)] = len(*list)
	*list = append(*list, value)
	return len(*list) - 1
}

// subject returns the index of a subject. A User with the name of a service account is that account.
func (m *maker) subject(s rbacv1.Subject, namespace string) int {
	s.APIGroup = ""
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		s.Namespace = cmp.Or(s.Namespace, namespace)
	case rbacv1.UserKind:
		s.Namespace = ""
		if account, ok := strings.CutPrefix(s.Name, accountPrefix); ok {
			if space, name, ok := strings.Cut(account, ":"); ok {
				s = rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: space, Name: name}
			}
		}
	default:
		s.Namespace = ""
	}
	if i, ok := m.subjects[s]; ok {
		return i
	}
	m.subjects[s] = len(m.out.Subjects)
	m.out.Subjects = append(m.out.Subjects, model.Subject{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name})
	return len(m.out.Subjects) - 1
}

const accountPrefix = "system:serviceaccount:"
