// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityclient "kube-granular.dev/api/client/clientset/versioned/typed/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/pages"
)

// masters is the group that the server always allows everything, without a binding.
const masters = "system:masters"

// superuser returns the holder that needs no binding, unless it is among the holders already.
func superuser(found []Holder) []Holder {
	const name = rbacv1.GroupKind + " " + masters
	if slices.ContainsFunc(found, func(h Holder) bool { return h.Subject == name && h.Can }) {
		return nil
	}
	return []Holder{{Subject: name, Can: true, Verb: rbacv1.VerbAll, Binding: "<none>", Role: "<none>",
		But: "the server always allows this group everything"}}
}

// escalations maps a verb by which a subject can grant what it does not hold to the resources that
// the subject must write for that.
var escalations = []struct {
	verb    string
	roles   []string
	written func(role string) string
}{
	{"escalate", []string{"clusterroles", "roles"}, func(role string) string { return role }},
	{"bind", []string{"clusterroles", "roles"}, func(role string) string {
		return map[string]string{"clusterroles": "clusterrolebindings", "roles": "rolebindings"}[role]
	}},
}

// grantors returns the subjects that can grant the permission to themselves: those that hold escalate
// or bind, and may write the roles or the bindings.
func (r *RBAC) grantors(w Query) []Holder {
	var out []Holder
	for _, e := range escalations {
		for _, role := range e.roles {
			may := r.holders(Target{Group: rbacv1.GroupName, Resource: role, Namespace: w.Namespace}, []string{e.verb},
				func(rule rbacv1.PolicyRule) bool {
					return len(rule.ResourceNames) == 0 || e.verb == "bind" &&
						slices.ContainsFunc(rule.ResourceNames, func(name string) bool { return r.grants(role, name, w) })
				})
			written := []string{e.written(role)}
			if e.verb == "bind" && role == "clusterroles" {
				written = append(written, "rolebindings") // a RoleBinding can refer to a ClusterRole
			}
			for subject, h := range may {
				for _, resource := range written {
					writes := r.holders(Target{Group: rbacv1.GroupName, Resource: resource, Namespace: w.Namespace},
						[]string{"create", "update", "patch"}, nil)
					if _, ok := writes[subject]; !ok {
						continue
					}
					h.Verb, h.But = e.verb, "can grant it to itself: holds "+e.verb+" on "+role+", and may write "+resource
					out = append(out, h)
					break
				}
			}
		}
	}
	return out
}

// holders returns the subjects that hold one of the verbs on a resource, in a namespace or
// everywhere, whatever the name. which selects rules; nil selects all.
func (r *RBAC) holders(target Target, verbs []string, which func(rbacv1.PolicyRule) bool) map[string]Holder {
	out := map[string]Holder{}
	for _, b := range r.bindings {
		if b.namespace != "" && b.namespace != target.Namespace {
			continue
		}
		for _, rule := range r.roles[b.role] {
			if !Covers(&rule, &target) || firstVerb(rule, verbs) == "" || which != nil && !which(rule) {
				continue
			}
			for _, s := range b.subjects {
				name := subjectName(s, b.namespace)
				if _, known := out[name]; !known {
					out[name] = Holder{Subject: name, Binding: b.String(), Role: b.role.String()}
				}
			}
		}
	}
	return out
}

// grants reports whether a ClusterRole, or a Role in the namespace of the query, grants one of the
// query's verbs.
func (r *RBAC) grants(resource, name string, w Query) bool {
	key := roleKey{"ClusterRole", "", name}
	if resource == "roles" {
		key = roleKey{"Role", w.Namespace, name}
	}
	return slices.ContainsFunc(r.roles[key], func(rule rbacv1.PolicyRule) bool {
		return Covers(&rule, &w.Target) && firstVerb(rule, append([]string{"update", "patch"}, w.Verbs...)) != ""
	})
}

// Delegation is a delegation that may give its delegates the permission of a query.
type Delegation struct {
	Name, Delegator string
	Delegates       []rbacv1.Subject
	// Namespace is the namespace of the scope, "" for the whole cluster.
	Namespace string
	Rules     []rbacv1.PolicyRule
	// Conditional is true if the delegation has conditions.
	Conditional bool
}

// ReadDelegations reads the delegations that have not ended.
func ReadDelegations(ctx context.Context, client authorityclient.AuthorityDelegationsGetter, now time.Time) ([]Delegation, error) {
	var out []Delegation
	err := pages.Each(ctx, client.AuthorityDelegations().List, func(d *v1alpha1.AuthorityDelegation) error {
		if end := d.Status.ExpirationTimestamp; end != nil && end.Time.Before(now) {
			return nil
		}
		read := Delegation{
			Name: d.Name, Delegator: d.Status.Delegator.Username, Namespace: d.Spec.Scope.Namespace, Rules: d.Status.Rules,
			Conditional: len(d.Spec.Conditions) > 0,
		}
		for _, delegate := range d.Spec.Delegates {
			subject := rbacv1.Subject{Kind: string(delegate.Kind), Namespace: delegate.Namespace, Name: delegate.Name}
			read.Delegates = append(read.Delegates, subject)
		}
		out = append(out, read)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read authoritydelegations: %w", err)
	}
	return out, nil
}

// delegates returns the delegates of delegations whose rules give the permission of a query. They use
// it in the name of the delegator, in requests that select the delegation.
func delegates(w Query) []Holder {
	var out []Holder
	for _, d := range w.Delegations {
		if d.Namespace != "" && d.Namespace != w.Namespace {
			continue
		}
		verb, general := "", !w.Granular
		for _, rule := range d.Rules {
			verb = cmp.Or(verb, grantedVerb(rule, w.Verbs, w.Target))
			general = general || grantedVerb(rule, []string{"granular"}, w.Target) != ""
			if ordinary := grantedVerb(rule, []string{"update", "patch"}, w.Target); w.Included && ordinary != "" {
				verb, general = cmp.Or(verb, ordinary), true
			}
		}
		if verb == "" || !general {
			continue
		}
		but := "only in requests that select the delegation, as far as " + d.Delegator + " may"
		if d.Conditional {
			but += ", under conditions"
		}
		for _, s := range d.Delegates {
			out = append(out, Holder{Subject: subjectName(s, ""), Can: true, Verb: verb, Binding: "AuthorityDelegation " + d.Name,
				Role: "<none>", But: but})
		}
	}
	return out
}

// RoleRef is a role that a protected label or annotation requires.
type RoleRef struct {
	// Kind and Name are those of the role.
	Kind, Name string
	// Namespace is the namespace of the protected attribute. If it is "", only ClusterRoleBindings
	// count.
	Namespace string
	// By is the protected attribute.
	By string
}

// boundTo returns the subjects of a role that a protected attribute requires.
func (r *RBAC) boundTo(ref RoleRef) []Holder {
	key := roleKey{ref.Kind, "", ref.Name}
	if ref.Kind == "Role" {
		key.namespace = ref.Namespace
	}
	var out []Holder
	if _, exists := r.roles[key]; !exists {
		return nil
	}
	for _, b := range r.bindings {
		if b.role != key || b.namespace != "" && b.namespace != ref.Namespace {
			continue
		}
		for _, s := range b.subjects {
			out = append(out, Holder{Subject: subjectName(s, b.namespace), Can: true, Verb: "<none>", Binding: b.String(),
				Role: key.String(), But: "as a subject of the role that " + ref.By + " requires"})
		}
	}
	return out
}
