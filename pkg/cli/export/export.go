// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
)

// Kinds finds what a role names.
type Kinds interface {
	// Target returns a resource or subresource. It returns nil if the server does not have it, or if it can't be
	// updated or patched.
	Target(group, resource, subresource string) (*Target, error)
	// TargetWith returns a resource with entries alone, of all FieldPermissions.
	TargetWith(entries *overlay.Entries, group, resource string) (*Target, error)
}

// Options tell what to export.
type Options struct {
	// Name is the beginning of the names of policies. Another export with the same name replaces them.
	Name string
	// Subjects get the roles that no binding in the files names.
	Subjects []rbacv1.Subject
}

// Result has what stands in for the roles, in the order in which it must be applied.
type Result struct {
	// Objects are the policies and their bindings, the ordinary roles, and the bindings of these.
	Objects []runtime.Object
	// Limits are those of the policies, besides the general ones.
	Limits []string
	// Notes say what was left out.
	Notes []string
}

// ErrNothing means that the files have nothing that needs a policy.
var ErrNothing = errors.New("nothing to export")

// bound is a rule of a role, with a binding of the role.
type bound struct {
	rule      rbacv1.PolicyRule
	subjects  []rbacv1.Subject
	namespace string
}

// exporter exports some roles.
type exporter struct {
	kinds Kinds
	bound []bound
	// targets are what rules with the verb granular name, by name; nil for what has no fields to authorize.
	targets map[string]*Target
	order   []string
	creates map[string]bool
	notes   []string
	// asked are the permissions for which the policies ask an authorizer, so the ordinary roles keep their verbs.
	asked map[string]bool
	// name is the beginning of the names of policies.
	name string
}

// Export returns policies and ordinary roles that stand in for granular roles.
func Export(roles *Roles, kinds Kinds, o Options) (*Result, error) {
	if err := roles.bindUnbound(o.Subjects); err != nil {
		return nil, err
	}
	e := &exporter{kinds: kinds, bound: roles.bound(), targets: map[string]*Target{}, creates: map[string]bool{}, asked: roles.asked()}
	if err := roles.gathered(); err != nil {
		return nil, err
	}
	for _, b := range e.bound {
		if slices.Contains(b.rule.Verbs, permission.General) {
			if err := e.look(b.rule); err != nil {
				return nil, err
			}
		}
	}
	if e.name = o.Name; e.name == "" {
		e.name = roles.name()
	}
	out := &Result{}
	for _, key := range e.order {
		t := e.targets[key]
		all := e.grants(t)
		if all.scope() == never {
			e.note("%s: a RoleBinding grants nothing on objects without a namespace", t)
			e.targets[key] = nil
			continue
		}
		made, err := policyFor(e.name, t, all)
		if err != nil {
			return nil, err
		}
		e.creates[key] = made.creates
		out.Objects = append(out.Objects, made.policy, made.binding)
	}
	for _, b := range e.bound {
		if slices.Contains(b.rule.Verbs, permission.General) {
			if err := e.passedOn(b.subjects); err != nil {
				return nil, err
			}
		}
	}
	fields, err := e.fieldPolicies(o.Name, roles.entries)
	if err != nil {
		return nil, err
	}
	attributes, notes, err := roles.attributePolicies(o.Name)
	if err != nil {
		return nil, err
	}
	out.Objects = slices.Concat(out.Objects, fields, attributes)
	if err := checkNames(out.Objects); err != nil {
		return nil, err
	}
	e.notes = append(e.notes, notes...)
	if len(fields) > 0 {
		out.Limits = append(out.Limits, FieldLimits...)
	}
	if len(attributes) > 0 {
		out.Limits = append(out.Limits, AttributeLimits...)
	}
	if len(out.Objects) == 0 {
		return nil, fmt.Errorf("%w: no role has the verb granular on a resource of the server, "+
			"and there is no protected attribute or FieldPermission in force", ErrNothing)
	}
	for _, object := range roles.objects {
		ordinary, err := e.ordinary(object)
		if err != nil {
			return nil, err
		}
		out.Objects = append(out.Objects, ordinary)
	}
	out.Notes = e.notes
	return out, nil
}

func (e *exporter) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(e.notes, text) {
		e.notes = append(e.notes, text)
	}
}

// keeps reports whether a policy asks an authorizer for a verb of a role.
func (e *exporter) keeps(verb string) bool {
	parsed, err := permission.Parse(verb)
	return err == nil && e.asked[parsed.Permission]
}

// key identifies a target of a rule.
func key(group, resource string) string { return resource + "." + group }

// look finds the targets of a rule.
func (e *exporter) look(rule rbacv1.PolicyRule) error {
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if strings.Contains(group+resource, rbacv1.ResourceAll) {
				return fmt.Errorf("a rule has the verb granular on %q of the group %q: name each resource, because each needs a policy of its own",
					resource, group)
			}
			k := key(group, resource)
			if _, known := e.targets[k]; known {
				continue
			}
			name, subresource, _ := strings.Cut(resource, "/")
			t, err := e.kinds.Target(group, name, subresource)
			if err != nil {
				return err
			}
			if e.targets[k] = t; t == nil {
				e.note("%s of the group %q can't be updated on this server, so the ordinary role does not have it", resource, group)
				continue
			}
			e.order = append(e.order, k)
		}
	}
	return nil
}

// grants returns what all rules grant on a target.
func (e *exporter) grants(t *Target) grants {
	var out grants
	for _, b := range e.bound {
		target := access.Target{Group: t.Resource.Group, Resource: t.Resource.Resource, Subresource: t.Subresource}
		if !access.Covers(&b.rule, &target) || b.namespace != "" && !t.Namespaced {
			continue
		}
		out = append(out, &grant{subjects: b.subjects, namespace: b.namespace, names: b.rule.ResourceNames, verbs: b.rule.Verbs})
	}
	return out
}

// ordinary returns a role without permissions, and with update and patch where it had the verb granular. It returns
// bindings as they are.
func (e *exporter) ordinary(object runtime.Object) (runtime.Object, error) {
	switch o := object.(type) {
	case *rbacv1.Role:
		out := o.DeepCopy()
		out.Rules = e.rules(o.Rules)
		return out, nil
	case *rbacv1.ClusterRole:
		if o.AggregationRule != nil {
			return nil, fmt.Errorf("ClusterRole %s gathers the rules of other roles: export those", o.Name)
		}
		out := o.DeepCopy()
		out.Rules = e.rules(o.Rules)
		return out, nil
	}
	return object, nil
}

func (e *exporter) rules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	out := []rbacv1.PolicyRule{}
	for _, rule := range rules {
		rest := rule
		rest.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return permission.IsVerb(verb) && !e.keeps(verb) })
		if len(rest.Verbs) > 0 {
			out = append(out, rest)
		}
		if !slices.Contains(rule.Verbs, permission.General) {
			continue
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				k := key(group, resource)
				if e.targets[k] == nil {
					continue
				}
				verbs := []string{"update", "patch"}
				if e.creates[k] && len(rule.ResourceNames) == 0 {
					verbs = append(verbs, "create")
				}
				verbs = append(verbs, standIn(e.name))
				out = append(out, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: verbs})
			}
		}
	}
	return out
}
