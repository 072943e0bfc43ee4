// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"kube-granular.dev/pkg/cli/pages"
	"kube-granular.dev/pkg/included"
)

// RBAC has the roles and bindings of a cluster.
type RBAC struct {
	roles    map[roleKey][]rbacv1.PolicyRule
	bindings []binding
	// labels are those of the ClusterRoles, and aggregations select the ClusterRoles whose rules another one gets, each by its name.
	labels       map[string]labels.Set
	aggregations map[string][]metav1.LabelSelector
}

func newRBAC() *RBAC {
	return &RBAC{
		roles: map[roleKey][]rbacv1.PolicyRule{}, labels: map[string]labels.Set{}, aggregations: map[string][]metav1.LabelSelector{},
	}
}

type roleKey struct{ kind, namespace, name string }

// binding is a RoleBinding or a ClusterRoleBinding.
type binding struct {
	kind, namespace, name string
	role                  roleKey
	subjects              []rbacv1.Subject
}

// ReadRBAC reads all roles and bindings. namespace limits Roles and RoleBindings to one namespace;
// if it is empty, those of all namespaces are read.
func ReadRBAC(ctx context.Context, client rbacclient.RbacV1Interface, namespace string) (*RBAC, error) {
	return read(ctx, client, namespace, "clusterroles", "roles", "clusterrolebindings", "rolebindings")
}

// read reads the resources of RBAC that are named.
func read(ctx context.Context, client rbacclient.RbacV1Interface, namespace string, resources ...string) (*RBAC, error) {
	out := newRBAC()
	add := func(o runtime.Object) error {
		out.add(o)
		return nil
	}
	for _, step := range []struct {
		what string
		read func() error
	}{
		{"clusterroles", func() error { return pages.Each(ctx, client.ClusterRoles().List, add) }},
		{"roles", func() error { return pages.Each(ctx, client.Roles(namespace).List, add) }},
		{"clusterrolebindings", func() error { return pages.Each(ctx, client.ClusterRoleBindings().List, add) }},
		{"rolebindings", func() error { return pages.Each(ctx, client.RoleBindings(namespace).List, add) }},
	} {
		if !slices.Contains(resources, step.what) {
			continue
		}
		if err := step.read(); err != nil {
			return nil, fmt.Errorf("read %s: %w", step.what, err)
		}
	}
	return out, nil
}

// add adds a role or a binding.
func (r *RBAC) add(o runtime.Object) {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		r.roles[roleKey{"ClusterRole", "", o.Name}] = o.Rules
		r.labels[o.Name] = o.Labels
		if o.AggregationRule != nil {
			r.aggregations[o.Name] = o.AggregationRule.ClusterRoleSelectors
		}
	case *rbacv1.Role:
		r.roles[roleKey{"Role", o.Namespace, o.Name}] = o.Rules
	case *rbacv1.ClusterRoleBinding:
		r.bindings = append(r.bindings, binding{"ClusterRoleBinding", "", o.Name, roleKey{"ClusterRole", "", o.RoleRef.Name}, o.Subjects})
	case *rbacv1.RoleBinding:
		role := roleKey{o.RoleRef.Kind, "", o.RoleRef.Name}
		if role.kind == "Role" {
			role.namespace = o.Namespace
		}
		r.bindings = append(r.bindings, binding{"RoleBinding", o.Namespace, o.Name, role, o.Subjects})
	}
}

// Holder is a subject that has the permission that a Query asks for, or that lacks only a part of
// what the permission needs.
type Holder struct {
	Subject string `json:"subject"`
	// Can is true if the subject has the permission, and false if it lacks what But describes.
	Can bool `json:"can"`
	// Verb is the verb that the subject holds.
	Verb string `json:"verb"`
	// Binding and Role grant the verb.
	Binding string `json:"binding"`
	Role    string `json:"role"`
	// But describes what the subject lacks, or the ordinary verb that makes the permission
	// unnecessary. It is empty if the subject holds the permission itself.
	But string `json:"but,omitempty"`
}

// Query describes the permission whose holders WhoCan finds.
type Query struct {
	Target
	// Verbs are the verbs that give the permission; one of them is sufficient. The first one is
	// the verb that the user asked for; the others are more general.
	Verbs []string
	// Granular is true if a subject also needs the verb granular.
	Granular bool
	// Included is true if update and patch include the permission.
	Included bool
	// Except are the verbs of those fields of the permission that update and patch do not include, and
	// the labels and annotations that protected attributes protect.
	Except []string
	// Roles are the roles of which a subject of one has the permission, if a protected attribute
	// requires a role.
	Roles []RoleRef
	// OnlyRoles is true if the verbs give the permission to nobody, because only Roles count.
	OnlyRoles bool
	// Delegations are those that may give the permission to their delegates.
	Delegations []Delegation
	// Wildcards is set if subjects are wanted too that hold the verb * only elsewhere, such as in one namespace.
	Wildcards bool
}

// WhoCan returns the subjects that have the permission of a query, followed by the subjects that
// lack only a part of it, such as the verb granular or the right namespace, and by those that can
// grant it to themselves.
func (r *RBAC) WhoCan(w Query) []Holder {
	type held struct {
		verbs, general, ordinary, elsewhere []Holder
		// groups are the names of the groups whose rights the subject certainly has too.
		groups []string
	}
	subjects := map[string]*held{}
	for _, b := range r.bindings {
		for _, rule := range r.roles[b.role] {
			for _, s := range b.subjects {
				name := subjectName(s, b.namespace)
				if subjects[name] == nil {
					subjects[name] = &held{groups: certainGroups(s, b.namespace)}
				}
				h := subjects[name]
				holder := Holder{Subject: name, Binding: b.String(), Role: b.role.String()}
				where := b.namespace == "" || b.namespace == w.Namespace
				if verb := grantedVerb(rule, w.Verbs, w.Target); verb != "" && where {
					holder.Verb = verb
					h.verbs = append(h.verbs, holder)
				} else if but := whyNotGranted(rule, w, b.namespace, where); but != "" {
					holder.Verb, holder.But = firstVerb(rule, w.Verbs), but
					h.elsewhere = append(h.elsewhere, holder)
				}
				if !where {
					continue
				}
				if w.Granular && grantedVerb(rule, []string{"granular"}, w.Target) != "" {
					h.general = append(h.general, holder)
				}
				verbs, but := w.ordinary()
				if verb := grantedVerb(rule, verbs, w.Target); verb != "" {
					holder.Verb, holder.Can, holder.But = verb, true, "holds "+verb+", which "+but
					h.ordinary = append(h.ordinary, holder)
				}
			}
		}
	}
	var out []Holder
	for name, h := range subjects {
		general := len(h.general) > 0
		opens := general || len(h.ordinary) > 0
		var others []Holder
		for _, group := range h.groups {
			if g := subjects[group]; g != nil {
				opens = opens || len(g.general) > 0 || len(g.ordinary) > 0
				others = append(others, g.verbs...)
			}
		}
		if w.Granular && general && len(h.verbs) == 0 {
			for _, v := range others { // its own granular, with a verb of its group
				v.Subject = name
				h.verbs = append(h.verbs, v)
			}
		}
		for _, v := range h.verbs {
			v.Can = !w.Granular || opens
			if !v.Can {
				v.But = "lacks the verb granular on the same resource"
			}
			if w.OnlyRoles && v.Subject != rbacv1.GroupKind+" "+masters {
				v.Can, v.But = false, "only subjects of the role that the protected attribute requires may change it"
			}
			out = append(out, v)
		}
		if w.Granular || len(h.verbs) == 0 {
			out = append(out, h.ordinary...)
		}
		if len(h.verbs) == 0 {
			out = append(out, h.elsewhere...)
		}
	}
	for _, ref := range w.Roles {
		out = append(out, r.boundTo(ref)...)
	}
	out = append(out, delegates(w)...)
	out = append(out, superuser(out)...)
	for _, g := range r.grantors(w) {
		if !slices.ContainsFunc(out, func(h Holder) bool { return h.Subject == g.Subject && h.Can }) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b Holder) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Binding, b.Binding), cmp.Compare(a.Verb, b.Verb))
	})
	return slices.Compact(out)
}

// ordinary returns the ordinary verbs whose holders do not need the permission of the query, and the reason.
func (w *Query) ordinary() (verbs []string, but string) {
	switch {
	case w.Granular && w.Included:
		return []string{"update", "patch"}, "needs no permission here" + except(w.Except)
	case slices.Equal(w.Verbs, []string{included.MetadataVerb}):
		return []string{"get", "list", "watch"}, "reads whole objects"
	}
	return nil, ""
}

// except returns the end of a text about the verbs that update and patch do not include.
func except(verbs []string) string {
	if len(verbs) == 0 {
		return ""
	}
	return ", except for " + strings.Join(verbs, ", ")
}

// rank is the sort key of WhoCan: 0 for a holder of the permission, 1 for a holder of an ordinary
// verb that includes the permission, and 2 for a subject that lacks a part.
func rank(h Holder) int {
	switch {
	case h.Can && h.But == "":
		return 0
	case h.Can:
		return 1
	}
	return 2
}

// certainGroups returns the names of the groups in which a subject of a binding certainly is, other than itself.
func certainGroups(s rbacv1.Subject, namespace string) (names []string) {
	s.Namespace = cmp.Or(s.Namespace, namespace)
	_, groups := Identity(s)
	for _, group := range groups {
		if s.Kind != rbacv1.GroupKind || group != s.Name {
			names = append(names, rbacv1.GroupKind+" "+group)
		}
	}
	return names
}

func subjectName(s rbacv1.Subject, namespace string) string {
	if s.Kind == rbacv1.ServiceAccountKind {
		return "ServiceAccount " + cmp.Or(s.Namespace, namespace) + "/" + s.Name
	}
	return s.Kind + " " + s.Name
}

func (b *binding) String() string {
	if b.namespace != "" {
		return b.kind + " " + b.namespace + "/" + b.name
	}
	return b.kind + " " + b.name
}

func (k roleKey) String() string {
	if k.namespace != "" {
		return k.kind + " " + k.namespace + "/" + k.name
	}
	return k.kind + " " + k.name
}

// grantedVerb returns the first of the verbs that a rule grants on a target, or "".
func grantedVerb(rule rbacv1.PolicyRule, verbs []string, target Target) string {
	rule.Verbs = VerbsOn(rule, target)
	return firstVerb(rule, verbs)
}

func matchesName(rule rbacv1.PolicyRule, target Target) bool {
	return len(rule.ResourceNames) == 0 || target.AnyName || slices.Contains(rule.ResourceNames, target.Name)
}

func firstVerb(rule rbacv1.PolicyRule, verbs []string) string {
	for _, v := range verbs {
		if ContainsOrAll(rule.Verbs, v) {
			return v
		}
	}
	return ""
}

// Covers reports whether a rule is about the resource of a target, whatever the name.
func Covers(rule *rbacv1.PolicyRule, target *Target) bool {
	switch {
	case !ContainsOrAll(rule.APIGroups, target.Group):
		return false
	case target.Subresource == "":
		return ContainsOrAll(rule.Resources, target.Resource)
	}
	return ContainsOrAll(rule.Resources, target.Resource+"/"+target.Subresource) || slices.Contains(rule.Resources, "*/"+target.Subresource)
}

// ContainsOrAll reports whether a list of a rule has a value, or the value * for all.
func ContainsOrAll(all []string, one string) bool {
	return slices.Contains(all, rbacv1.VerbAll) || slices.Contains(all, one)
}

// whyNotGranted returns why a rule that lists one of the query's verbs does not grant that verb on
// the query's target, such as "only in namespace shop". namespace is that of the binding, and
// where is true if the binding applies in the namespace of the target. It returns "" if the rule
// lists none of the verbs, lists the verb * and the query does not want it, or is for another resource.
func whyNotGranted(rule rbacv1.PolicyRule, w Query, namespace string, where bool) string {
	if firstVerb(rule, w.Verbs) == "" || slices.Contains(rule.Verbs, "*") && !w.Wildcards {
		return ""
	}
	same := Covers(&rule, &w.Target)
	switch {
	case same && !where:
		return "only in namespace " + namespace
	case same && w.Name == "":
		return "only for " + strings.Join(rule.ResourceNames, ", ")
	case same:
		return "not for " + w.Name + ", only for " + strings.Join(rule.ResourceNames, ", ")
	case !ContainsOrAll(rule.APIGroups, w.Group):
		return ""
	}
	for _, resource := range rule.Resources {
		name, sub, _ := strings.Cut(resource, "/")
		if name == w.Resource && sub != w.Subresource {
			return "only on " + resource
		}
	}
	return ""
}
