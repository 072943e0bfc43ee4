// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/roles"
)

// copiers is the name of the role and binding with which upstream's controllers copy protected labels and annotations. A
// kube-granular server has the same ones.
const copiers = "system:kube-granular:protected-attributes-controllers"

// AttributeLimits are what policies about protected labels and annotations can't hold.
var AttributeLimits = []string{
	"Protected labels and annotations: those hold a role whom a binding in the files names. After a change of a binding, export again. " +
		"Nothing protects the bindings: who holds all that a role allows may bind it.",
	"Protected labels and annotations: in the data of a ControllerRevision, a name in other letter case, such as Metadata, is not found, " +
		"though a rollback reads it. Do not let callers write ControllerRevisions.",
	"Protected labels and annotations: templates inside custom resources are not judged. What a webhook sets counts as the caller's. " +
		"Selected roles and delegations do not exist. There is no status and no report, and attributes in mode Audit are left out.",
}

// attributes makes the policy of the attributes of one scope: of the cluster, or of one namespace.
type attributes struct {
	namespace string
	entries   []protect.Entry
	roles     *Roles
	table     *protect.Table

	variables   []admissionv1.Variable
	validations []admissionv1.Validation
	// held has the names of variables by the roles and verbs.
	held map[protect.Reference]string
	// unbound are the roles that no binding names.
	unbound []string
}

// attributePolicies returns the policies of all protected attributes, and the role and binding of upstream's controllers.
func (r *Roles) attributePolicies(prefix string) (out []runtime.Object, notes []string, err error) {
	scopes := map[string][]protect.Entry{}
	for _, e := range r.attributes {
		if e.Mode == protect.Audit {
			notes = append(notes, fmt.Sprintf("the attribute %s is in mode Audit, which refuses nothing, so it is left out", e.Name))
			continue
		}
		if problems := e.Problems(); len(problems) > 0 {
			return nil, nil, fmt.Errorf("protected attribute %s: %s", e.Name, problems[0])
		}
		scopes[e.Namespace] = append(scopes[e.Namespace], e)
	}
	for _, namespace := range slices.Sorted(maps.Keys(scopes)) {
		a := &attributes{namespace: namespace, entries: scopes[namespace], roles: r, table: protect.Builtin(),
			held: map[protect.Reference]string{}}
		policy, err := a.policy(prefix)
		if err != nil {
			return nil, nil, err
		}
		for _, role := range a.unbound {
			notes = append(notes, fmt.Sprintf("no binding in the files names %s, so nobody is admitted by it", role))
		}
		out = append(out, policy, bindingOf(policy))
	}
	if len(out) > 0 {
		out = append(out, copierRole()...)
	}
	return out, notes, nil
}

func (a *attributes) policy(prefix string) (*admissionv1.ValidatingAdmissionPolicy, error) {
	a.variables = []admissionv1.Variable{
		{Name: "old", Expression: "oldObject == null ? {} : oldObject"},
		{Name: "new", Expression: "object == null ? {} : object"},
		// A binding sets the labels and annotations of a pod.
		{Name: "resource", Expression: `request.resource.group == "" && request.resource.resource == "bindings" ? "/pods" : ` +
			`request.resource.group + "/" + request.resource.resource`},
		{Name: "bypass", Expression: fmt.Sprintf(
			`authorizer.group(%q).resource("protectedattributes").check("bypass").allowed()`, v1alpha1.GroupName)},
	}
	for _, kind := range []schema.Attribute{schema.Label, schema.Annotation} {
		keys, domains := a.keys(kind)
		for _, key := range slices.Concat(keys, domains) {
			if err := a.protect(kind, key, keys); err != nil {
				return nil, err
			}
		}
	}
	a.rollback()
	name, scope := "protected-attributes", "true"
	if a.namespace != "" {
		name += "-" + a.namespace
		scope = fmt.Sprintf(
			`request.namespace == %s && !(request.resource.group == "" && request.resource.resource == "namespaces")`, quote(a.namespace))
	}
	if prefix != "" {
		name = prefix + "-" + name
	}
	policy := newPolicy(name, []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}, admissionv1.Rule{
		APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}})
	policy.Spec.MatchConditions = []admissionv1.MatchCondition{
		{Name: "scope", Expression: scope},
		{Name: "not-a-master", Expression: `!("system:masters" in request.userInfo.?groups.orValue([]))`},
	}
	policy.Spec.Variables, policy.Spec.Validations = a.variables, a.validations
	if err := checkCost(policy); err != nil {
		return nil, fmt.Errorf("protected attributes: %w", err)
	}
	return policy, nil
}

// keys returns the keys and the domains that entries of a kind protect, sorted.
func (a *attributes) keys(kind schema.Attribute) (keys, domains []string) {
	for _, e := range a.entries {
		if e.Kind != kind {
			continue
		}
		if strings.HasSuffix(e.Key, "/*") {
			domains = append(domains, e.Key)
		} else {
			keys = append(keys, e.Key)
		}
	}
	slices.Sort(keys)
	slices.Sort(domains)
	return slices.Compact(keys), slices.Compact(domains)
}

// protect adds the validations for a key or a domain.
func (a *attributes) protect(kind schema.Attribute, key string, keys []string) error {
	domain, whole := strings.CutSuffix(key, "*")
	var entries []protect.Entry
	for _, e := range a.entries {
		prefix, wildcard := strings.CutSuffix(e.Key, "*")
		covers := wildcard && !whole && prefix == key[:strings.Index(key, "/")+1]
		if e.Kind == kind && (e.Key == key || covers) {
			entries = append(entries, e)
		}
	}
	for _, l := range locations() {
		admitted, err := a.admitted(&l, entries, key)
		if err != nil {
			return err
		}
		if admitted == always {
			continue // no entry applies there
		}
		name := attributeMap(kind)
		// others are the keys of a domain that this validation is not about.
		others := or("!k.startsWith("+quote(domain)+")", oneOf("k", append(protect.ReservedIn(kind, domain), below(domain, keys)...)))
		text := l.unchanged(name, key, admitted)
		switch {
		case whole && len(l.list) > 0:
			text = l.unchangedDomains(name, others, admitted)
		case whole:
			text = l.unchangedDomain(name, others, admitted)
		case len(l.list) > 0:
			text = l.unchangedElements(name, key, admitted)
		}
		a.validate(or(text, "variables.bypass"), fmt.Sprintf("the caller may not change %s.%s[%s], which is protected", l.String(), name, key))
	}
	return nil
}

func below(domain string, keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !strings.HasPrefix(k, domain) })
}

// admitted returns the condition under which the caller may set or remove a value at a location.
func (a *attributes) admitted(l *location, entries []protect.Entry, key string) (string, error) {
	var protecting, admitting []string
	for i := range entries {
		e := entries[i]
		e.Resources, e.ExcludeResources = canonical(e.Resources), canonical(e.ExcludeResources)
		applies := l.filter(&e, a.table, key)
		if applies == never {
			continue
		}
		held, err := a.holds(&e, key)
		if err != nil {
			return "", err
		}
		protects, admits := always, always
		switch {
		case len(e.ProtectedValues) > 0:
			protects = or("type(value) != string", oneOf("value", e.ProtectedValues))
			admits = oneOf("value", e.ProtectedValues)
		case len(e.AllowedValues) > 0:
			admits = oneOf("value", e.AllowedValues)
		}
		protecting = append(protecting, and(applies, protects))
		admitting = append(admitting, and(applies, admits, held))
	}
	if len(protecting) == 0 {
		return always, nil
	}
	some := or(protecting...)
	if some == always {
		return or(admitting...), nil
	}
	return or(append([]string{"!(" + some + ")"}, admitting...)...), nil
}

// holds returns the condition that the caller holds the role or the verb of an entry.
func (a *attributes) holds(e *protect.Entry, key string) (string, error) {
	if e.Role == (protect.RoleRef{}) {
		if strings.HasSuffix(key, "*") {
			return "", fmt.Errorf("protected attribute %s: without a role, each key of %s has a verb of its own, "+
				"and to ask for each costs more than a policy may: name a role", e.Name, e.Key)
		}
		verb, ok := protect.VerbOf(e.Kind, key)
		if !ok {
			return never, nil
		}
		return a.variable(protect.Reference{Kind: protect.Verb, Name: verb}, asks(verb)), nil
	}
	reference := protect.Reference{Kind: e.Role.Kind, Namespace: e.Namespace, Name: e.Role.Name}
	var subjects []string
	for _, object := range a.roles.objects {
		role, named, namespace, ok := binding(object)
		if !ok || role.name != e.Role.Name || (role.namespace == "") != (e.Role.Kind == protect.ClusterRole) ||
			namespace != "" && namespace != e.Namespace || role.namespace != "" && role.namespace != e.Namespace {
			continue
		}
		for _, s := range named {
			subjects = append(subjects, isSubject(s))
		}
	}
	if len(subjects) == 0 {
		if text := e.Role.Kind + " " + e.Role.Name; !slices.Contains(a.unbound, text) {
			a.unbound = append(a.unbound, text)
		}
		return never, nil
	}
	return a.variable(reference, or(subjects...)), nil
}

// asks returns the condition that an authorizer allows a verb on what is written.
func asks(verb string) string {
	return "authorizer.requestResource.check(" + quote(verb) + ").allowed()"
}

// variable returns the variable with the answer for a reference. A server computes it when it is used, and once.
func (a *attributes) variable(r protect.Reference, expression string) string {
	if _, known := a.held[r]; !known {
		a.held[r] = fmt.Sprintf("held%d", len(a.held))
		a.variables = append(a.variables, admissionv1.Variable{Name: a.held[r], Expression: expression})
	}
	return "variables." + a.held[r]
}

// rollback closes the annotation with which a controller restores an old template, which was not checked.
func (a *attributes) rollback() {
	const annotation = `.?metadata.?annotations[?"` + rollbackAnnotation + `"]`
	a.validate(or(`variables.resource != "apps/deployments"`, "variables.old"+annotation+" == variables.new"+annotation, "variables.bypass"),
		"the caller may not change .metadata.annotations["+rollbackAnnotation+"], because labels or annotations are protected")
}

func (a *attributes) validate(expression, message string) {
	reason := metav1.StatusReasonForbidden
	a.validations = append(a.validations, admissionv1.Validation{Expression: expression, Message: message, Reason: &reason})
}

// copierRole returns the role that upstream's controllers need, and its binding.
func copierRole() []runtime.Object {
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "system:kube-controller-manager"}}
	for _, name := range protect.Copiers() {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name})
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"protectedattributes"}, Verbs: []string{"bypass"}}
	grant := roles.Grant{Rules: []rbacv1.PolicyRule{rule}}
	return grant.Objects(copiers, subjects)
}

func canonical(resources []protect.Resource) []protect.Resource {
	var out []protect.Resource
	for _, r := range resources {
		out = append(out, r.Canonical())
	}
	return out
}
