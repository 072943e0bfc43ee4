// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
)

const labelsOfDeployments = `- {apiGroups: [apps], resources: [deployments], verbs: [granular, "granular:labels"]}`

// firstPolicy returns the first policy of an export.
func firstPolicy(t *testing.T, r *Result) *admissionv1.ValidatingAdmissionPolicy {
	t.Helper()
	for _, o := range r.Objects {
		if policy, ok := o.(*admissionv1.ValidatingAdmissionPolicy); ok {
			return policy
		}
	}
	t.Fatal("no policy")
	return nil
}

// labelled returns the writes of a deployment that set a label, and that change something else.
func labelled(t *testing.T, base write) (label, other *write) {
	t.Helper()
	target, err := fakeKinds{t}.Target("apps", "deployments", "")
	if err != nil {
		t.Fatal(err)
	}
	kind := kubeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	base.target, base.name = target, "web"
	base.old = stored(t, kind, map[string]any{"metadata": map[string]any{"name": "web"}})
	one, two := base, base
	one.new = stored(t, kind, map[string]any{"metadata": map[string]any{"name": "web", "labels": map[string]any{"a": "b"}}})
	two.new = stored(t, kind, map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"paused": true}})
	return &one, &two
}

// TestHoldersOfTheRole checks that a policy restricts whoever holds the exported role: also a service account whose namespace is
// that of the binding, and who has the role by a binding that is not in the files. Holders of all verbs are free.
func TestHoldersOfTheRole(t *testing.T) {
	result, err := exportOf(t, strings.Replace(role(labelsOfDeployments), "name: jane}", "name: jane}, {kind: ServiceAccount, name: robot}", 1))
	if err != nil {
		t.Fatal(err)
	}
	e := compile(t, firstPolicy(t, result))
	const held = "stand-in:r"
	for name, tc := range map[string]struct {
		write
		label, other bool
	}{
		"a subject":                                   {write{user: jane, namespace: "shop", holds: []string{held}}, true, false},
		"an account of the binding's namespace":       {write{user: "system:serviceaccount:shop:robot", namespace: "shop"}, true, false},
		"an account of another namespace":             {write{user: "system:serviceaccount:mill:robot", namespace: "shop"}, true, true},
		"a binding that is not in the files":          {write{user: "joe", namespace: "shop", holds: []string{held}}, false, false},
		"a subject, by a binding in another place":    {write{user: jane, namespace: "mill", holds: []string{held}}, false, false},
		"who holds all verbs":                         {write{user: "joe", namespace: "shop", holds: []string{held, rbacv1.VerbAll}}, true, true},
		"who holds the role of an export elsewhere":   {write{user: "joe", namespace: "shop", holds: []string{"stand-in:other"}}, true, true},
		"a subject who holds all verbs":               {write{user: jane, namespace: "shop", holds: []string{held, rbacv1.VerbAll}}, true, false},
		"a subject whom the authorizer does not know": {write{user: jane, namespace: "shop"}, true, false},
	} {
		label, other := labelled(t, tc.write)
		for w, wanted := range map[*write]bool{label: tc.label, other: tc.other} {
			if allowed, broken, why := e.allows(w); allowed != wanted || broken {
				t.Errorf("%s: allowed %v, wanted %v (%s)", name, allowed, wanted, why)
			}
		}
	}
}

// TestVersionOfThePolicy checks that a write in another version than that of the schema is refused, and does not escape.
func TestVersionOfThePolicy(t *testing.T) {
	result, err := exportOf(t, role(labelsOfDeployments))
	if err != nil {
		t.Fatal(err)
	}
	policy := firstPolicy(t, result)
	if versions := policy.Spec.MatchConstraints.ResourceRules[0].APIVersions; len(versions) != 1 || versions[0] != "*" {
		t.Errorf("the policy sees only the versions %q", versions)
	}
	label, _ := labelled(t, write{user: jane, namespace: "shop"})
	for version, wanted := range map[string]bool{"v1": true, "v2": false} {
		target := *label.target
		target.Resource.Version = version
		label.target = &target
		if allowed, broken, why := compile(t, policy).allows(label); allowed != wanted || broken {
			t.Errorf("%s: allowed %v (%s)", version, allowed, why)
		}
	}
}

// TestHoldersOfExcluded checks that who holds update does not get the excluded permission of somebody else.
func TestHoldersOfExcluded(t *testing.T) {
	const text = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: d}
rules: [{apiGroups: [example.com], resources: [boxes], verbs: [granular, "granular:example.com/danger"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: d}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: d}
subjects: [{kind: User, name: jane}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: u}
rules: [{apiGroups: [example.com], resources: [boxes], verbs: [update, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: u}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: u}
subjects: [{kind: User, name: bob}]
`
	result, err := exportBoxes(t, text, boxKinds{})
	if err != nil {
		t.Fatal(err)
	}
	e := compile(t, firstPolicy(t, result))
	target, _ := boxKinds{t: t}.Target("example.com", "boxes", "")
	for _, tc := range []struct {
		user, field string
		allowed     bool
	}{
		{jane, "danger", true}, {jane, "size", false},
		{"bob", "danger", false}, {"bob", "size", true},
		{"ann", "danger", true}, {"ann", "size", true}, // a printed limit: ann is no subject
	} {
		value := map[string]any{"danger": "x", "size": int64(2)}[tc.field]
		w := &write{user: tc.user, name: "a", target: target, old: box(map[string]any{}), new: box(map[string]any{tc.field: value})}
		if allowed, broken, why := e.allows(w); allowed != tc.allowed || broken {
			t.Errorf("%s, %s: allowed %v (%s)", tc.user, tc.field, allowed, why)
		}
	}
}

// TestAnnotationOfARollback checks that the permission of annotations does not let a caller have a controller restore an old
// template: in the server, the annotation is a field of the specification.
func TestAnnotationOfARollback(t *testing.T) {
	for verbs, wanted := range map[string]bool{
		`"granular:annotations"`: false, `"granular:annotation(deprecated.deployment.rollback.to)"`: false,
		`"granular:annotations", "granular:specification"`: true, `"granular:specification"`: false,
	} {
		result, err := exportOf(t, role(`- {apiGroups: [apps], resources: [deployments], verbs: [granular, `+verbs+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		w, _ := labelled(t, write{user: jane, namespace: "shop"})
		kind := kubeschema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
		w.new = stored(t, kind, map[string]any{"metadata": map[string]any{"name": "web",
			"annotations": map[string]any{"deprecated.deployment.rollback.to": "1"}}})
		if allowed, broken, why := compile(t, firstPolicy(t, result)).allows(w); allowed != wanted || broken {
			t.Errorf("%s: allowed %v (%s)", verbs, allowed, why)
		}
	}
}

// TestNamesOfPolicies checks that no two policies have one name, since one of them would replace the other one.
func TestNamesOfPolicies(t *testing.T) {
	name := func(export, group, resource, subresource string) string {
		return policyName(export, &Target{Resource: kubeschema.GroupVersionResource{Group: group, Resource: resource}, Subresource: subresource})
	}
	if got := name("r", "apps", "deployments", "status"); got != "r-deployments-status.apps" {
		t.Errorf("%s", got)
	}
	for _, two := range [][2]string{
		{name("a-b", "x", "c", ""), name("a", "x", "b-c", "")},
		{name("a", "x", "b", "status"), name("a", "x", "b-status", "")},
		{name("a", "x", "b", "status"), name("a-b", "x", "status", "")},
		{name("field-permission", "apps", "deployments", ""), fieldPolicyName("", "deployments.apps")},
	} {
		if two[0] == two[1] {
			t.Errorf("two policies have the name %s", two[0])
		}
	}
}

// TestRefusedNames checks that there is no output if a server would refuse a policy for its name, since it would take the role.
func TestRefusedNames(t *testing.T) {
	long := strings.Repeat("a", 250)
	for _, text := range []string{
		strings.ReplaceAll(role(labelsOfDeployments), "name: r}", "name: "+long+"}"),
	} {
		if result, err := exportOf(t, text); err == nil || result != nil || !strings.Contains(err.Error(), "choose another --name") {
			t.Errorf("error %v", err)
		}
	}
	roles := NewRoles("default")
	if err := roles.Add("role.yaml", []byte(role(labelsOfDeployments))); err != nil {
		t.Fatal(err)
	}
	for name, wanted := range map[string]bool{"a": true, "a b": false, "A": false, "-a": false, "a_b": false} {
		if _, err := Export(roles, fakeKinds{t}, Options{Name: name}); (err == nil) != wanted {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

// TestExcludedOfNobody checks that an excluded field is closed to those who may change what is around it, also if no role has its
// permission.
func TestExcludedOfNobody(t *testing.T) {
	for verbs, size := range map[string]bool{`granular, update, patch`: true, "granular": false} {
		text := role(`- {apiGroups: [example.com], resources: [boxes], verbs: [` + verbs + `]}`)
		result, err := exportBoxes(t, text, boxKinds{})
		if err != nil {
			t.Fatal(err)
		}
		e := compile(t, firstPolicy(t, result))
		target, _ := boxKinds{t: t}.Target("example.com", "boxes", "")
		for name, tc := range map[string]struct {
			old, new map[string]any
			allowed  bool
		}{
			"the field appears": {map[string]any{}, map[string]any{"danger": "x"}, false},
			"the field goes":    {map[string]any{"danger": "x"}, map[string]any{}, false},
			"another field":     {map[string]any{"danger": "x"}, map[string]any{"danger": "x", "size": int64(1)}, size},
			"both":              {map[string]any{"danger": "x"}, map[string]any{"danger": "y", "size": int64(1)}, false},
		} {
			w := &write{user: jane, namespace: "shop", name: "a", target: target, old: box(tc.old), new: box(tc.new)}
			if allowed, broken, why := e.allows(w); allowed != tc.allowed || broken {
				t.Errorf("%s, %s: allowed %v (%s)", verbs, name, allowed, why)
			}
		}
	}
}
