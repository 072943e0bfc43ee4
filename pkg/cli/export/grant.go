// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
)

// grant is what one rule gives to the subjects of one binding, on one resource or subresource.
type grant struct {
	subjects  []rbacv1.Subject
	namespace string   // of the binding; empty for a ClusterRoleBinding
	names     []string // of objects; empty for all
	verbs     []string
}

func (g *grant) has(verb string) bool {
	return slices.Contains(g.verbs, verb) || slices.Contains(g.verbs, rbacv1.VerbAll)
}

// condition returns the CEL condition under which a request is about the grant. The name of an object is not
// known when it is created, and RBAC then grants nothing by name.
func (g *grant) condition() string {
	var subjects, names []string
	for _, s := range g.subjects {
		subjects = append(subjects, isSubject(s))
	}
	for _, name := range g.names {
		names = append(names, "request.name == "+quote(name))
	}
	namespace, name := always, always
	if g.namespace != "" {
		namespace = "request.namespace == " + quote(g.namespace)
	}
	if len(names) > 0 {
		name = and(`request.operation != "CREATE"`, or(names...))
	}
	return and(or(subjects...), namespace, name)
}

// isSubject returns the CEL condition under which a subject sends the request. A request may lack both fields,
// and an error would refuse the writes of others.
func isSubject(s rbacv1.Subject) string {
	const user = `request.userInfo.?username.orValue("") == `
	switch s.Kind {
	case rbacv1.GroupKind:
		return quote(s.Name) + " in request.userInfo.?groups.orValue([])"
	case rbacv1.ServiceAccountKind:
		return user + quote("system:serviceaccount:"+s.Namespace+":"+s.Name)
	}
	return user + quote(s.Name)
}

// grants are all grants on one resource or subresource.
type grants []*grant

// holding returns the condition under which the caller holds a verb. The result is always if it holds for each
// request that the policy sees.
func (all grants) holding(verb string) string {
	var conditions []string
	scope := all.scope()
	for _, g := range all {
		if g.has(verb) {
			if g.condition() == scope {
				return always
			}
			conditions = append(conditions, g.condition())
		}
	}
	return or(conditions...)
}

// scope returns the condition under which fields are authorized: the caller holds the verb granular.
func (all grants) scope() string {
	var conditions []string
	for _, g := range all {
		if slices.Contains(g.verbs, permission.General) {
			conditions = append(conditions, g.condition())
		}
	}
	return or(conditions...)
}

// parameters returns the parameters with which the verbs of a permission are held, sorted, each with
// the condition under which it is.
func (all grants) parameters(name string) (parameters []string, condition map[string]string) {
	condition = map[string]string{}
	for _, g := range all {
		for _, text := range g.verbs {
			verb, err := permission.Parse(text)
			if err == nil && verb.Parameterized && verb.Permission == name {
				condition[verb.Parameter] = all.holding(text)
			}
		}
	}
	for p := range condition {
		parameters = append(parameters, p)
	}
	slices.SortFunc(parameters, strings.Compare)
	return parameters, condition
}
