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

// holding returns the condition under which the caller holds a verb. known is a condition that holds for each
// request about which the result is used.
func (all grants) holding(verb, known string) string {
	var conditions []string
	for _, g := range all {
		if g.has(verb) {
			if g.condition() == known {
				return always
			}
			conditions = append(conditions, g.condition())
		}
	}
	return or(conditions...)
}

// standIn returns the verb that an ordinary role has in place of granular. Policies ask an authorizer for it, so they see also
// those that got the role by a binding that is not in the files. It differs between exports, whose policies know other subjects.
func standIn(export string) string { return "stand-in:" + export }

// holdsStandIn returns the condition that the caller holds the ordinary role of an export, and not all verbs.
func holdsStandIn(export string) string { return and(asks(standIn(export)), "!"+asks(rbacv1.VerbAll)) }

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
// the condition under which it is; see holding.
func (all grants) parameters(name, known string) (parameters []string, condition map[string]string) {
	condition = map[string]string{}
	for _, g := range all {
		for _, text := range g.verbs {
			verb, err := permission.Parse(text)
			if err == nil && verb.Parameterized && verb.Permission == name {
				condition[verb.Parameter] = all.holding(text, known)
			}
		}
	}
	for p := range condition {
		parameters = append(parameters, p)
	}
	slices.SortFunc(parameters, strings.Compare)
	return parameters, condition
}
