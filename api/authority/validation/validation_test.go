// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// good returns a valid specification of a protected attribute.
func good() *authority.ProtectedAttributeSpec {
	return &authority.ProtectedAttributeSpec{
		AttributeKind: authority.AttributeLabel,
		AttributeName: "example.com/tier",
		RoleRef: &authority.RoleReference{APIGroup: authority.RoleGroup, Kind: authority.ClusterRoleKind,
			Name: "tier:setter"},
		Mode: authority.ModeEnforce,
	}
}

func manyValues(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("v%d", i))
	}
	return out
}

func manyResources(n int) (out []authority.GroupResource) {
	for i := range n {
		out = append(out, authority.GroupResource{Resource: fmt.Sprintf("r%d", i)})
	}
	return out
}

type spec = authority.ProtectedAttributeSpec

// TestSpec holds that each possible mistake in a specification is reported for its own field,
// with a message that names a valid value, and that nothing else is reported.
func TestSpec(t *testing.T) {
	const namespaced, cluster, both = 1, 2, 3
	tests := []struct {
		name   string
		change func(*spec)
		in     int
		want   []string // each is "field: part of the message"; empty if the specification is valid
	}{
		{"as it is", func(*spec) {}, both, nil},
		{"no role", func(s *spec) { s.RoleRef = nil }, both, nil},
		{"audit", func(s *spec) { s.Mode = authority.ModeAudit }, both, nil},
		{"key without a domain", func(s *spec) { s.AttributeName = "env" }, both, nil},
		{"domain", func(s *spec) { s.AttributeName = "example.com/*" }, both, nil},
		{"protected values", func(s *spec) { s.ProtectedValues = []string{"gold", ""} }, both, nil},
		{"allowed values", func(s *spec) { s.AllowedValues = []string{"gold"} }, both, nil},
		{"as many values as there may be", func(s *spec) { s.AllowedValues = manyValues(authority.MaxValues) },
			both, nil},
		{"resources", func(s *spec) {
			s.Resources = []authority.GroupResource{{Resource: "pods"}, {Group: "apps", Resource: "deployments"}}
			s.ExcludeResources = []authority.GroupResource{{Group: "apps", Resource: "replicasets"}}
		}, both, nil},
		{"annotation with a value that no label has", func(s *spec) {
			s.AttributeKind, s.ProtectedValues = authority.AttributeAnnotation, []string{"{not a label}"}
		}, both, nil},
		{"annotation in capitals", func(s *spec) {
			s.AttributeKind, s.AttributeName = authority.AttributeAnnotation, "Example.com/Tier"
		}, both, nil},

		{"no kind", func(s *spec) { s.AttributeKind = "" }, both,
			[]string{"spec.attributeKind: must be Label or Annotation"}},
		{"unknown kind", func(s *spec) { s.AttributeKind = "Taint" }, both,
			[]string{`spec.attributeKind: supported values: "Annotation", "Label"`}},
		{"kind in lower case", func(s *spec) { s.AttributeKind = "label" }, both,
			[]string{`spec.attributeKind: supported values`}},
		{"no name", func(s *spec) { s.AttributeName = "" }, both, []string{"spec.attributeName: must be a key"}},
		{"malformed key", func(s *spec) { s.AttributeName = "a b" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"two slashes", func(s *spec) { s.AttributeName = "a/b/c" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"label in capitals", func(s *spec) { s.AttributeName = "Example.com/tier" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"everything", func(s *spec) { s.AttributeName = "*" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"every domain", func(s *spec) { s.AttributeName = "*/*" }, both, []string{`spec.attributeName: the part before "/*" is not a domain`}},
		{"no domain", func(s *spec) { s.AttributeName = "/*" }, both, []string{`spec.attributeName: the part before "/*" is not a domain`}},
		{"malformed domain", func(s *spec) { s.AttributeName = "exa_mple.com/*" }, both, []string{`spec.attributeName: the part before "/*" is not a domain`}},
		{"wildcard in a domain", func(s *spec) { s.AttributeName = "*.example.com/x" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"part of a name", func(s *spec) { s.AttributeName = "example.com/t*" }, both,
			[]string{"spec.attributeName: is neither a key nor a domain"}},
		{"a key of the server", func(s *spec) { s.AttributeName = "kubernetes.io/metadata.name" }, both,
			[]string{"spec.attributeName: is a key that the API server sets"}},
		{"its domain", func(s *spec) { s.AttributeName = "kubernetes.io/*" }, both, nil},
		{"a stamp", func(s *spec) {
			s.AttributeKind, s.AttributeName = authority.AttributeAnnotation, "pods.authority.kube-granular.dev/p"
		}, both, []string{"spec.attributeName: is in a domain where only the API server writes annotations"}},
		{"stamps", func(s *spec) {
			s.AttributeKind, s.AttributeName = authority.AttributeAnnotation, "deployments.apps.authority.kube-granular.dev/*"
		}, both, []string{"spec.attributeName: is in a domain where only the API server writes annotations"}},
		{"labels in the domain of stamps", func(s *spec) { s.AttributeName = "pods.authority.kube-granular.dev/*" }, both, nil},
		{"a hash of a controller", func(s *spec) { s.AttributeName = "pod-template-hash" }, both,
			[]string{"spec.attributeName: is a key that the deployment controller sets"}},
		{"it as an annotation", func(s *spec) {
			s.AttributeKind, s.AttributeName = authority.AttributeAnnotation, "pod-template-hash"
		}, both, nil},
		{"a revision", func(s *spec) {
			s.AttributeKind, s.AttributeName = authority.AttributeAnnotation, "deployment.kubernetes.io/revision"
		}, both, []string{"spec.attributeName: is a key that the deployment controller sets"}},

		{"role", func(s *spec) { s.RoleRef.Kind = authority.RoleKind }, namespaced, nil},
		{"role for the cluster", func(s *spec) { s.RoleRef.Kind = authority.RoleKind }, cluster,
			[]string{"spec.roleRef.kind: a ClusterProtectedAttribute acts in all namespaces, so its role must be a ClusterRole"}},
		{"no kind of role", func(s *spec) { s.RoleRef.Kind = "" }, both,
			[]string{"spec.roleRef.kind: must be Role or ClusterRole"}},
		{"unknown kind of role", func(s *spec) { s.RoleRef.Kind = "Group" }, both,
			[]string{`spec.roleRef.kind: supported values: "ClusterRole", "Role"`}},
		{"no name of role", func(s *spec) { s.RoleRef.Name = "" }, both,
			[]string{"spec.roleRef.name: must name a role"}},
		{"malformed name of role", func(s *spec) { s.RoleRef.Name = "a/b" }, both,
			[]string{"spec.roleRef.name: may not contain '/'"}},
		{"another group of role", func(s *spec) { s.RoleRef.APIGroup = "example.com" }, both,
			[]string{`spec.roleRef.apiGroup: supported values: "rbac.authorization.k8s.io"`}},

		{"both lists of values",
			func(s *spec) { s.ProtectedValues, s.AllowedValues = []string{"a"}, []string{"b"} }, both,
			[]string{"spec.allowedValues: at most one of protectedValues and allowedValues may be set"}},
		{"malformed value", func(s *spec) { s.AllowedValues = []string{"ok", "not ok"} }, both,
			[]string{"spec.allowedValues[1]: is not a valid label value"}},
		{"malformed protected value", func(s *spec) { s.ProtectedValues = []string{strings.Repeat("a", 64)} }, both,
			[]string{"spec.protectedValues[0]: is not a valid label value"}},
		{"long value of an annotation", func(s *spec) {
			s.AttributeKind, s.ProtectedValues = authority.AttributeAnnotation, []string{strings.Repeat("a", authority.MaxValueLength+1)}
		}, both, []string{"spec.protectedValues[0]: may not be more than 4096 bytes"}},
		{"value that is no text", func(s *spec) {
			s.AttributeKind, s.ProtectedValues = authority.AttributeAnnotation, []string{"\xff"}
		}, both, []string{"spec.protectedValues[0]: must be UTF-8"}},
		{"value twice", func(s *spec) { s.ProtectedValues = []string{"a", "b", "a"} }, both,
			[]string{"spec.protectedValues[2]: duplicate"}},
		{"too many values", func(s *spec) { s.AllowedValues = manyValues(authority.MaxValues + 1) }, both,
			[]string{"spec.allowedValues: must have at most 256 items"}},

		{"no mode", func(s *spec) { s.Mode = "" }, both, []string{`spec.mode: supported values: "Audit", "Enforce"`}},
		{"unknown mode", func(s *spec) { s.Mode = "Warn" }, both, []string{`spec.mode: supported values`}},

		{"no resource", func(s *spec) { s.Resources = []authority.GroupResource{{Group: "apps"}} }, both,
			[]string{"spec.resources[0].resource: must be the plural name"}},
		{"subresource", func(s *spec) { s.Resources = []authority.GroupResource{{Resource: "pods/status"}} }, both,
			[]string{"spec.resources[0].resource: must be the plural name of a resource, without a subresource"}},
		{"kind for a resource", func(s *spec) { s.ExcludeResources = []authority.GroupResource{{Resource: "Pod"}} },
			both, []string{"spec.excludeResources[0].resource: must be the plural name"}},
		{"malformed group",
			func(s *spec) { s.Resources = []authority.GroupResource{{Group: "apps/v1", Resource: "deployments"}} },
			both, []string{"spec.resources[0].group: is not an API group"}},
		{"every resource", func(s *spec) { s.Resources = []authority.GroupResource{{Resource: "*"}} }, both,
			[]string{"spec.resources[0].resource: must name one resource"}},
		{"every group", func(s *spec) { s.Resources = []authority.GroupResource{{Group: "*", Resource: "pods"}} },
			both, []string{"spec.resources[0].group: is not an API group"}},
		{"resource twice",
			func(s *spec) { s.Resources = []authority.GroupResource{{Resource: "pods"}, {Resource: "pods"}} }, both,
			[]string{"spec.resources[1]: duplicate"}},
		{"resource in both lists", func(s *spec) {
			s.Resources, s.ExcludeResources = []authority.GroupResource{{Resource: "pods"}}, []authority.GroupResource{{Resource: "pods"}}
		}, both, []string{"spec.excludeResources[0]: is in resources as well"}},
		{"events of one group, without those of the other", func(s *authority.ProtectedAttributeSpec) {
			s.Resources = []authority.GroupResource{{Resource: "events"}}
			s.ExcludeResources = []authority.GroupResource{{Group: "events.k8s.io", Resource: "events"}}
		}, both, []string{"spec.excludeResources[0]: is in resources as well"}},
		{"too many resources", func(s *spec) { s.Resources = manyResources(authority.MaxResources + 1) }, both,
			[]string{"spec.resources: must have at most 64 items"}},
		{"nodes", func(s *spec) { s.Resources = []authority.GroupResource{{Resource: "nodes"}} }, cluster, nil},
		{"nodes in a namespace",
			func(s *spec) { s.Resources = []authority.GroupResource{{Resource: "pods"}, {Resource: "nodes"}} },
			namespaced,
			[]string{"spec.resources[1].resource: nodes has no namespace, so only a ClusterProtectedAttribute can protect it"}},
		{"storage classes in a namespace", func(s *spec) {
			s.ExcludeResources = []authority.GroupResource{{Group: "storage.k8s.io", Resource: "storageclasses"}}
		}, namespaced, []string{"spec.excludeResources[0].resource: storageclasses.storage.k8s.io has no namespace"}},

		{"several things", func(s *spec) {
			s.AttributeKind, s.Mode, s.RoleRef.Name = "Taint", "Warn", ""
		}, both, []string{"spec.attributeKind: supported", "spec.mode: supported", "spec.roleRef.name: must name"}},
	}
	for _, tc := range tests {
		for _, scope := range []Scope{Namespaced, Cluster} {
			if scope == Namespaced && tc.in&namespaced == 0 || scope == Cluster && tc.in&cluster == 0 {
				continue
			}
			s := good()
			tc.change(s)
			check(t, fmt.Sprintf("%s (cluster %t)", tc.name, scope), Spec(s, scope, field.NewPath("spec")), tc.want)
		}
	}
}

// check compares errors with the wanted ones, which may be in any order.
func check(t *testing.T, name string, errs field.ErrorList, want []string) {
	t.Helper()
	var got []string
	for _, err := range errs {
		got = append(got, err.Field+": "+err.Detail)
		if err.Type == field.ErrorTypeDuplicate {
			got[len(got)-1] = err.Field + ": duplicate"
		}
	}
	ok := len(got) == len(want)
	for _, w := range want {
		ok = ok && slices.ContainsFunc(got, func(g string) bool {
			at, part, _ := strings.Cut(w, ": ")
			f, detail, _ := strings.Cut(g, ": ")
			return f == at && strings.Contains(detail, part)
		})
	}
	if !ok {
		t.Errorf("%s: got %q, wanted %q", name, got, want)
	}
}

// TestAttribute holds that metadata and specification are validated both on create and on
// update.
func TestAttribute(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "tier", Namespace: "n", UID: "1", ResourceVersion: "1"}
	check(t, "namespaced", Attribute(&meta, good(), Namespaced), nil)
	check(t, "cluster with a namespace", Attribute(&meta, good(), Cluster), []string{"metadata.namespace: not allowed"})
	other := meta
	other.Name = "A_"
	check(t, "name", Attribute(&other, good(), Namespaced), []string{"metadata.name: a lowercase RFC 1123 subdomain"})
	bad := good()
	bad.Mode = ""
	check(t, "specification", Attribute(&meta, bad, Namespaced), []string{"spec.mode: supported"})
	check(t, "update", AttributeUpdate(&meta, &meta, good(), good(), Namespaced), nil)
	check(t, "update of the specification", AttributeUpdate(&meta, &meta, bad, good(), Namespaced), []string{"spec.mode: supported"})
	check(t, "update of something else", AttributeUpdate(&meta, &meta, bad, bad.DeepCopy(), Namespaced), nil)
	other = meta
	other.UID = "2"
	check(t, "update of metadata", AttributeUpdate(&other, &meta, good(), good(), Namespaced), []string{"metadata.uid: field is immutable"})
}

// TestStatusUpdate holds that a status with too long lists or negative counts is refused.
func TestStatusUpdate(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "tier", Namespace: "n", UID: "1", ResourceVersion: "1"}
	full := authority.ProtectedAttributeStatus{
		ObservedGeneration: 1, HolderCount: 1000,
		Conditions:      []metav1.Condition{{Type: authority.ConditionAccepted, Status: metav1.ConditionTrue, Reason: authority.ReasonAccepted, LastTransitionTime: metav1.Now()}},
		Holders:         make([]authority.Subject, authority.MaxHolders),
		EarlierBindings: make([]authority.BindingReference, authority.MaxEarlierBindings),
	}
	tests := []struct {
		name   string
		change func(*authority.ProtectedAttributeStatus)
		want   []string
	}{
		{"empty", func(s *authority.ProtectedAttributeStatus) { *s = authority.ProtectedAttributeStatus{} }, nil},
		{"full", func(*authority.ProtectedAttributeStatus) {}, nil},
		{"holders",
			func(s *authority.ProtectedAttributeStatus) { s.Holders = append(s.Holders, authority.Subject{}) },
			[]string{"status.holders: must have at most 64"}},
		{"bindings", func(s *authority.ProtectedAttributeStatus) {
			s.EarlierBindings = append(s.EarlierBindings, authority.BindingReference{})
		}, []string{"status.earlierBindings: must have at most 64"}},
		{"negative", func(s *authority.ProtectedAttributeStatus) { s.AuditViolations = -1 },
			[]string{"status.auditViolations: must be greater"}},
		{"condition", func(s *authority.ProtectedAttributeStatus) {
			s.Conditions = []metav1.Condition{{Type: "x", Status: "?", Reason: "X", LastTransitionTime: metav1.Now()}}
		}, []string{"status.conditions[0].status: supported"}},
	}
	for _, tc := range tests {
		status := full.DeepCopy()
		tc.change(status)
		check(t, tc.name, StatusUpdate(&meta, &meta, status), tc.want)
	}
}

// TestDelegationLimits checks the limits on what the conditions and rules of a delegation contain
// together, and which changes of the expiration time are valid.
func TestDelegationLimits(t *testing.T) {
	rules := func(verbs, groups, resources, names int) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{Verbs: many(verbs), APIGroups: many(groups), Resources: many(resources), ResourceNames: many(names)}}
	}
	scope, at := authority.DelegationScope{Namespace: "n"}, field.NewPath("spec", "rules")
	check(t, "65,536 permissions", Rules(rules(64, 64, 16, 0), scope, at), nil)
	check(t, "more permissions", Rules(rules(64, 64, 17, 0), scope, at), []string{"spec.rules: has more than 65536"})
	check(t, "permissions by name", Rules(rules(64, 64, 1, 17), scope, at), []string{"spec.rules: has more than 65536"})
	check(t, "permissions of several rules", Rules(slices.Repeat(rules(64, 64, 8, 0), 3), scope, at), []string{"spec.rules: has more than 65536"})

	expressions := func(lengths ...int) (out []authority.DelegationCondition) {
		for _, n := range lengths {
			out = append(out, authority.DelegationCondition{Expression: strings.Repeat("x", n)})
		}
		return out
	}
	at = field.NewPath("spec", "conditions")
	check(t, "8,192 bytes", conditions(expressions(4096, 4096), at), nil)
	check(t, "a byte more", conditions(expressions(4096, 4096, 1, 1), at), []string{"spec.conditions[2].expression: the expressions of all conditions together"})

	at1, at2 := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	for name, tc := range map[string]struct {
		is, was *metav1.Time
		wrong   bool
	}{
		"set": {&at1, nil, false}, "earlier": {&at1, &at2, false}, "the same": {&at1, &at1, false}, "later": {&at2, &at1, true},
		"removed": {nil, &at1, true}, "zero": {&metav1.Time{}, &at1, true}, "zero instead of none": {&metav1.Time{}, nil, true},
	} {
		now, old := &authority.AuthorityDelegation{}, &authority.AuthorityDelegation{}
		now.Name, old.Name, now.ResourceVersion, old.ResourceVersion = "d", "d", "1", "1"
		now.Spec.ExpirationTimestamp, old.Spec.ExpirationTimestamp = tc.is, tc.was
		var want []string
		if tc.wrong {
			want = []string{"spec.expirationTimestamp: can be made earlier"}
		}
		check(t, name, DelegationUpdate(now, old), want)
	}
}

// many returns n different values.
func many(n int) (out []string) {
	for i := range n {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// TestFewPermissions checks that rules with too many permissions are recognized, however large the
// product of the lists is, and that a repeated value counts once.
func TestFewPermissions(t *testing.T) {
	resources := func(verbs, groups, resources, names []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources, ResourceNames: names}
	}
	same := func(n int) []string { return slices.Repeat([]string{"x"}, n) }
	for _, tc := range []struct {
		rule rbacv1.PolicyRule
		want bool
	}{
		{resources(many(64), many(64), many(16), nil), true},
		{resources(many(64), many(64), many(17), nil), false},
		{resources(many(64), many(64), many(64), many(64)), false},
		{resources(many(1<<16), many(1<<16), many(1<<16), many(1<<16)), false},
		{resources(many(1), many(1), many(1<<16), nil), true},
		{resources(nil, many(1<<16), many(1<<16), nil), true},
		{resources(same(256), same(256), same(256), same(256)), true},
		{resources(append(same(256), many(63)...), many(64), append(many(16), many(16)...), nil), true},
		{resources(append(same(256), many(64)...), many(64), append(many(16), many(16)...), nil), false},
		{rbacv1.PolicyRule{Verbs: many(1 << 10), NonResourceURLs: many(1 << 10)}, false},
	} {
		if got := FewPermissions([]rbacv1.PolicyRule{tc.rule}); got != tc.want {
			t.Errorf("%d verbs, %d groups, %d resources, %d names, %d paths: few enough: %v", len(tc.rule.Verbs), len(tc.rule.APIGroups), len(tc.rule.Resources), len(tc.rule.ResourceNames), len(tc.rule.NonResourceURLs), got)
		}
	}
	if FewPermissions(slices.Repeat([]rbacv1.PolicyRule{resources(many(64), many(64), many(8), nil)}, 3)) {
		t.Error("the sum over all rules has no limit")
	}
}
