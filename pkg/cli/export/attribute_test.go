// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/protect/protecttest"
	"kube-granular.dev/granular/schema"
)

// bindingsOf returns bindings that give jane what a random case says that its caller holds, and her verbs.
func bindingsOf(holds []string) (out []runtime.Object, verbs []string) {
	for i, text := range holds {
		kind, rest, isRole := strings.Cut(text, " ")
		if !isRole {
			verbs = append(verbs, text)
			continue
		}
		name, namespace, local := strings.Cut(rest, " in ")
		ref, meta := rbacv1.RoleRef{Kind: kind, Name: name}, metav1.ObjectMeta{Name: fmt.Sprint(i), Namespace: namespace}
		subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: jane}}
		if local {
			out = append(out, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		} else {
			out = append(out, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		}
	}
	return out, verbs
}

// attributeWrites is the number of random writes with protected attributes. Each has policies of its own, so one takes 50 ms.
var attributeWrites = flag.Int("attribute-writes", 120, "random writes with protected attributes")

// TestRandomAttributes compares the decisions of the policies with an oracle that shares no code with them.
func TestRandomAttributes(t *testing.T) {
	writes := *attributeWrites
	resources := slices.DeleteFunc(protecttest.Resources(), func(r string) bool { return r == "fleets.example.com" }) // a custom resource
	judged, refused, inexpressible := 0, 0, 0
	for seed := uint64(0); judged < writes; seed++ {
		c := protecttest.RandomWithoutAdmission(rand.New(rand.NewPCG(seed, 47)), resources...)
		for i := range c.Entries {
			c.Entries[i].Mode = protect.Enforce
		}
		objects, verbs := bindingsOf(c.Holds)
		// A cluster role binding also counts in a namespace.
		holds := slices.Clone(c.Holds)
		for _, h := range c.Holds {
			if strings.HasPrefix(h, "ClusterRole ") && !strings.Contains(h, " in ") {
				holds = append(holds, h+" in default", h+" in other")
			}
		}
		want, _ := c.Verdict(holds)
		roles := NewRoles("default")
		roles.objects, roles.attributes = objects, c.Entries
		policies, _, err := roles.attributePolicies("")
		if err != nil {
			if !strings.Contains(err.Error(), "verb of its own") && !strings.Contains(err.Error(), "is also in resources") {
				t.Fatalf("seed %d: %v", seed, err)
			}
			inexpressible++
			continue
		}
		name, group, _ := strings.Cut(c.Resource, ".")
		w := &write{user: jane, namespace: c.Namespace, holds: verbs, target: &Target{
			Resource: kubeschema.GroupVersionResource{Group: group, Version: "v1", Resource: name}}}
		w.new = &unstructured.Unstructured{Object: c.Final}
		if c.Old != nil {
			w.old = &unstructured.Unstructured{Object: c.Old}
		}
		got, reasons := false, ""
		for _, p := range policies {
			if policy, ok := p.(*admissionv1.ValidatingAdmissionPolicy); ok {
				allowed, broken, why := compile(t, policy).allows(w)
				if broken {
					t.Fatalf("seed %d: %s", seed, why)
				}
				got, reasons = got || !allowed, reasons+why
			}
		}
		judged++
		if want {
			refused++
		}
		if got != want {
			t.Fatalf("seed %d: refused %v (%s), the oracle %v\n%+v\n%s in %s, old %v\nnew %v\nholds %q", seed, got, reasons, want, c.Entries,
				c.Resource, c.Namespace, c.Old, c.Final, holds)
		}
	}
	t.Logf("%d writes, %d refused, %d cases that have no policy", judged, refused, inexpressible)
	if refused < writes/20 || judged-refused < writes/20 {
		t.Error("that is no test")
	}
}

// TestLocations checks that the policies look at each place of labels and annotations in built-in kinds.
func TestLocations(t *testing.T) {
	known := map[string]bool{}
	for _, l := range locations() {
		for _, r := range append(slices.Clone(l.resources), protect.Resource{}) {
			known[resourceName(r)+l.String()] = true
		}
	}
	found := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		object, err := scheme.Scheme.New(gvk)
		model, ok := object.(interface{ OpenAPIModelName() string })
		if err != nil || !ok || gvk.Group == "extensions" || strings.HasSuffix(gvk.Kind, "List") || definitions()[model.OpenAPIModelName()] == nil {
			continue
		}
		tree, err := schema.Compile(definitions(), model.OpenAPIModelName())
		if err != nil {
			continue // no object with metadata
		}
		resource := gvk.Group + "/" + strings.ToLower(gvk.Kind) + "s"
		for path := range tree.NodePaths() {
			if path.Node().Attribute() == 0 {
				continue
			}
			text := ""
			for i, n := range path[1 : len(path)-1] {
				if around := path[i]; around.Kind != schema.Object {
					text += "[*]"
				} else {
					text += "." + n.Field
				}
			}
			found++
			if text != ".metadata" && !known[resource+text] {
				t.Errorf("%s: no policy looks at %s", resource, text)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d places", found)
	}
}

const attributeFile = `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: env}
spec: {attributeKind: Label, attributeName: env, roleRef: {kind: ClusterRole, name: release-manager}, protectedValues: [prod]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: release-manager}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: release-manager}
subjects: [{kind: Group, name: releasers}]
`

// TestAttributeFiles checks what is written for files of protected attributes, and what is refused or left out.
func TestAttributeFiles(t *testing.T) {
	result, err := exportOf(t, attributeFile)
	if err != nil {
		t.Fatal(err)
	}
	policy := result.Objects[0].(*admissionv1.ValidatingAdmissionPolicy)
	engine := compile(t, policy)
	object := func(env string) runtime.Object {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": env}}}}
	}
	target := &Target{Resource: kubeschema.GroupVersionResource{Version: "v1", Resource: "pods"}}
	for name, tc := range map[string]struct {
		w       write
		allowed bool
	}{
		"a holder":         {write{old: object("dev"), new: object("prod"), groups: []string{"releasers"}}, true},
		"somebody":         {write{old: object("dev"), new: object("prod")}, false},
		"away":             {write{old: object("prod"), new: object("dev")}, false},
		"a free value":     {write{old: object("dev"), new: object("test")}, true},
		"a create":         {write{new: object("prod")}, false},
		"a master":         {write{new: object("prod"), groups: []string{"system:masters"}}, true},
		"a controller":     {write{new: object("prod"), holds: []string{"bypass"}}, true},
		"a similar verb":   {write{new: object("prod"), holds: []string{"bypasses"}}, false},
		"no label anymore": {write{old: object("prod"), new: &unstructured.Unstructured{Object: map[string]any{}}}, false},
	} {
		tc.w.target, tc.w.user = target, jane
		if allowed, broken, why := engine.allows(&tc.w); allowed != tc.allowed || broken {
			t.Errorf("%s: allowed %v (%s)", name, allowed, why)
		}
	}
	annotated := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"deprecated.deployment.rollback.to": "1"}}}}
	for resource, allowed := range map[string]bool{"deployments": false, "replicasets": true} {
		w := &write{old: object("dev"), new: annotated, user: jane, target: &Target{
			Resource: kubeschema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}}}
		if got, _, why := engine.allows(w); got != allowed {
			t.Errorf("a rollback of %s: allowed %v (%s)", resource, got, why)
		}
	}
	if !slices.Equal(result.Limits, AttributeLimits) {
		t.Errorf("limits %q", result.Limits)
	}
	for name, tc := range map[string]struct{ from, to, says, notes string }{
		"audit":      {"protectedValues: [prod]", "protectedValues: [prod], mode: Audit", "nothing to export", ""},
		"nobody":     {"name: release-manager}\nsubjects", "name: other}\nsubjects", "not in the files", ""},
		"no binding": {"subjects: [{kind: Group, name: releasers}]", "subjects: []", "", "nobody is admitted"},
		"a domain": {"\n---\n", "\n---\napiVersion: authority.kube-granular.dev/v1alpha1\nkind: ClusterProtectedAttribute\nmetadata: {name: d}\n" +
			"spec: {attributeKind: Label, attributeName: a.example/*}\n---\n", "name a role", ""},
		"a wrong key": {"attributeName: env", "attributeName: a/b/c", "protected attribute env", ""},
		"delegations": {"kind: ClusterProtectedAttribute", "kind: AuthorityDelegation", "a policy can't hold it", ""},
	} {
		result, err := exportOf(t, strings.Replace(attributeFile, tc.from, tc.to, 1))
		if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) || tc.says == "" && err != nil {
			t.Errorf("%s: error %v, wanted one with %q", name, err, tc.says)
		}
		if tc.notes != "" && (result == nil || !strings.Contains(strings.Join(result.Notes, "; "), tc.notes)) {
			t.Errorf("%s: notes %+v", name, result)
		}
	}
}
