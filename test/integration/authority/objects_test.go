// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	applyv1alpha1 "kube-granular.dev/api/client/applyconfiguration/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

var gvr = v1alpha1.SchemeGroupVersion.WithResource("protectedattributes")

const manifest = `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: tier, namespace: kubectl}
spec:
  attributeKind: Label
  attributeName: example.com/tier
  roleRef: {kind: ClusterRole, name: tier-setter}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: tier}
spec:
  attributeKind: Annotation
  attributeName: example.com/*
  mode: Audit
`

// TestKubectl checks that kubectl creates, prints, explains, applies and deletes
// ProtectedAttributes and ClusterProtectedAttributes.
func TestKubectl(t *testing.T) {
	namespace(t, on, "kubectl")
	out := harness.MustKubectl(t, on, manifest, "create", "-f", "-")
	if strings.Count(out, " created") != 2 || strings.Contains(out, "Warning") {
		t.Errorf("created: %s", out)
	}
	harness.MustKubectl(t, on, "", "wait", "--for=condition=Accepted", "--timeout=1m", "pattr/tier", "-n", "kubectl")
	for args, want := range map[string][]string{
		"get pattr -n kubectl": {"NAME", "ATTRIBUTE",
			"tier   Label   example.com/tier   ClusterRole/tier-setter   Enforce   True"},
		"get cpattr":   {"tier   Annotation   example.com/*   <verb>   Audit"},
		"get pattr -A": {"NAMESPACE", "kubectl"},
		"get authority -n kubectl": {"protectedattribute.authority.kube-granular.dev/tier",
			"clusterprotectedattribute.authority.kube-granular.dev/tier"},
		"get pattr tier -n kubectl -o yaml": {"mode: Enforce", "apiGroup: rbac.authorization.k8s.io",
			"namespaceUID:", "user: "},
		"explain protectedattribute.spec": {"attributeName", "<string> -required-",
			"ProtectedAttributeSpec"},
		"explain cpattr.spec.roleRef.kind": {"Role or ClusterRole"},
		"describe pattr tier -n kubectl":   {"Attribute Name:", "example.com/tier"},
		"api-resources --api-group " + v1alpha1.GroupName: {"protectedattributes", "pattr",
			"clusterprotectedattributes", "cpattr"},
	} {
		out := strings.Join(strings.Fields(harness.MustKubectl(t, on, "", strings.Fields(args)...)), " ")
		for _, w := range want {
			if w = strings.Join(strings.Fields(w), " "); !strings.Contains(out, w) {
				t.Errorf("kubectl %s: no %q in\n%s", args, w, out)
			}
		}
		if strings.Contains(out, "+permission") || strings.Contains(out, "+listType") {
			t.Errorf("kubectl %s shows a marker:\n%s", args, out)
		}
	}
	for _, args := range []string{"apply -f -", "apply --server-side --force-conflicts -f -", "apply --dry-run=server -f -", "diff -f -", "replace -f -"} {
		harness.MustKubectl(t, on, manifest, strings.Fields(args)...)
	}
	harness.MustKubectl(t, on, manifest, "delete", "-f", "-")
	if out, err := harness.Kubectl(t, on, "", "get", "cpattr", "tier"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("after deletion: %s", out)
	}
}

// TestApply checks server-side apply of attributes: fields have managers, two managers
// conflict, and a field is removed if its only manager leaves it out.
func TestApply(t *testing.T) {
	namespace(t, on, "apply")
	ours, _ := clients(t, on)
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("apply")
	configuration := func() *applyv1alpha1.ProtectedAttributeApplyConfiguration {
		return applyv1alpha1.ProtectedAttribute("tier", "apply")
	}
	base := func() *applyv1alpha1.ProtectedAttributeSpecApplyConfiguration {
		return applyv1alpha1.ProtectedAttributeSpec().WithAttributeKind(v1alpha1.AttributeLabel).WithAttributeName("example.com/tier")
	}
	made, err := attributes.Apply(t.Context(), configuration().WithSpec(base().WithAllowedValues("gold").WithMode(v1alpha1.ModeAudit)), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || made.Status.NamespaceUID == "" || made.Spec.Mode != v1alpha1.ModeAudit {
		t.Fatal(made, err)
	}
	other := configuration().WithSpec(applyv1alpha1.ProtectedAttributeSpec().WithMode(v1alpha1.ModeEnforce))
	_, err = attributes.Apply(t.Context(), other, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.mode") {
		t.Fatalf("no conflict: %v", err)
	}
	if _, err := attributes.Apply(t.Context(), other, metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil {
		t.Fatal(err)
	}
	got, err := attributes.Apply(t.Context(), configuration().WithSpec(base()), metav1.ApplyOptions{FieldManager: "one"})
	if err != nil || len(got.Spec.AllowedValues) != 0 || got.Spec.Mode != v1alpha1.ModeEnforce || got.Generation != 3 {
		t.Errorf("after the values were left out: %+v, generation %d, error %v", got.Spec, got.Generation, err)
	}
	counted := configuration().WithStatus(applyv1alpha1.ProtectedAttributeStatus().WithAuditViolations(2).WithNamespaceUID("forged"))
	got, err = attributes.ApplyStatus(t.Context(), counted, metav1.ApplyOptions{FieldManager: "status"})
	if err != nil || got.Status.AuditViolations != 2 || got.Status.NamespaceUID != made.Status.NamespaceUID {
		t.Errorf("status %+v, error %v", got.Status, err)
	}
	managers := map[string]string{}
	for _, m := range got.ManagedFields {
		managers[m.Manager+m.Subresource] = string(m.FieldsV1.Raw)
	}
	for manager, field := range map[string]string{"one": "f:attributeName", "two": "f:mode", "statusstatus": "f:auditViolations"} {
		if !strings.Contains(managers[manager], field) {
			t.Errorf("%s does not manage %s: %v", manager, field, managers)
		}
	}
	if strings.Contains(managers["one"], "f:status") || strings.Contains(managers["one"], "f:allowedValues") {
		t.Errorf("one manages %s", managers["one"])
	}
}

// TestBadInput checks that the error for an invalid attribute names the invalid field.
//
// Attack: protecting keys that the server and its controllers set, such as `kubernetes.io/metadata.name` and
// `pod-template-hash`, so that nobody can create anything
// Answer: 422, which gives the reason
func TestBadInput(t *testing.T) {
	namespace(t, on, "bad")
	ours, _ := clients(t, on)
	for field, change := range map[string]func(*v1alpha1.ProtectedAttributeSpec){
		"spec.attributeKind": func(s *v1alpha1.ProtectedAttributeSpec) { s.AttributeKind = "Taint" },
		"spec.attributeName": func(s *v1alpha1.ProtectedAttributeSpec) { s.AttributeName = "kubernetes.io/metadata.name" },
		"spec.allowedValues": func(s *v1alpha1.ProtectedAttributeSpec) {
			s.AllowedValues, s.ProtectedValues = []string{"a"}, []string{"b"}
		},
		"spec.allowedValues[1]":   func(s *v1alpha1.ProtectedAttributeSpec) { s.AllowedValues = []string{"a", "a"} },
		"spec.protectedValues[0]": func(s *v1alpha1.ProtectedAttributeSpec) { s.ProtectedValues = []string{"not a value"} },
		"spec.roleRef.kind":       func(s *v1alpha1.ProtectedAttributeSpec) { s.RoleRef.Kind = "Group" },
		"spec.resources[0].resource": func(s *v1alpha1.ProtectedAttributeSpec) {
			s.Resources = []v1alpha1.GroupResource{{Resource: "pods/status"}}
		},
		"spec.mode": func(s *v1alpha1.ProtectedAttributeSpec) { s.Mode = "Warn" },
	} {
		a, c := attribute("a"), clusterAttribute("bad")
		change(&a.Spec)
		change(&c.Spec)
		_, namespaced := ours.AuthorityV1alpha1().ProtectedAttributes("bad").Create(t.Context(), a, metav1.CreateOptions{})
		_, cluster := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), c, metav1.CreateOptions{})
		for _, err := range []error{namespaced, cluster} {
			status, ok := err.(apierrors.APIStatus)
			if !ok || !apierrors.IsInvalid(err) || status.Status().Details.Causes[0].Field != field {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
	a := attribute("a")
	a.Spec.Resources = []v1alpha1.GroupResource{{Resource: "nodes"}}
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("bad").Create(t.Context(), a, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "only a ClusterProtectedAttribute can protect it") {
		t.Errorf("nodes in a namespace: %v", err)
	}
	c := clusterAttribute("bad")
	c.Spec.RoleRef.Kind = v1alpha1.RoleKind
	if _, err := ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), c, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must be a ClusterRole") {
		t.Errorf("a role of no namespace: %v", err)
	}
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("missing").Create(t.Context(), attribute("a"), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("in no namespace: %v", err)
	}
	if out, err := harness.Kubectl(t, on, strings.Replace(strings.Replace(manifest, "mode: Audit", "moode: Audit", 1), "kubectl}", "bad}", 1), "create", "-f", "-"); err == nil || !strings.Contains(out, `unknown field "spec.moode"`) {
		t.Errorf("an unknown field: %s", out)
	}
}

// TestLists checks paging, selectors, watches, dry runs and the deletion of a collection of
// attributes.
func TestLists(t *testing.T) {
	namespace(t, on, "lists")
	ours, _ := clients(t, on)
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("lists")
	before, err := attributes.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if before.Items == nil {
		t.Error("an empty list is null")
	}
	for i := range 7 {
		a := attribute(fmt.Sprintf("a%d", i))
		a.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)}
		if i == 3 {
			a.Spec.AttributeName = "example.com/other"
		}
		if _, err := attributes.Create(t.Context(), a, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := attributes.Create(t.Context(), attribute("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Fatal(err)
	}
	for options, want := range map[metav1.ListOptions]int{
		{}:                          7,
		{LabelSelector: "odd=true"}: 3,
		{FieldSelector: "spec.attributeName=example.com/other"}:                      1,
		{FieldSelector: "spec.attributeKind=Annotation"}:                             0,
		{FieldSelector: "metadata.name=a1"}:                                          1,
		{LabelSelector: "odd=true", FieldSelector: "spec.attributeKind=Label"}:       3,
		{FieldSelector: "spec.attributeKind=Label,metadata.namespace=somewhereelse"}: 0,
	} {
		list, err := attributes.List(t.Context(), options)
		if err != nil || len(list.Items) != want {
			t.Errorf("%+v: %d objects, error %v", options, len(list.Items), err)
		}
	}
	if _, err := attributes.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.mode=Audit"}); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field selector: %v", err)
	}
	var names []string
	options := metav1.ListOptions{Limit: 3}
	for pages := 0; ; pages++ {
		list, err := attributes.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list.Items {
			names = append(names, a.Name)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	if len(names) != 7 {
		t.Errorf("paged: %v", names)
	}
	w, err := attributes.Watch(t.Context(), metav1.ListOptions{ResourceVersion: before.ResourceVersion, LabelSelector: "odd=true"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for i := range 3 {
		if event := next(w); event.Type != "ADDED" || event.Object.(*v1alpha1.ProtectedAttribute).Name != fmt.Sprintf("a%d", 2*i+1) {
			t.Errorf("the watch reports %+v", event)
		}
	}
	if err := attributes.DeleteCollection(t.Context(), metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := attributes.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "odd=true"}); err != nil {
		t.Fatal(err)
	}
	if list, err := attributes.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 4 {
		t.Errorf("after the deletion: %d objects, error %v", len(list.Items), err)
	}
	for range 3 {
		if event := next(w); event.Type != "DELETED" {
			t.Errorf("the watch reports %+v", event)
		}
	}
}

// TestStatusIsTheServers checks that no request can set the status fields that only the server
// writes.
//
// Attack: a protected attribute with a forged UID of its namespace, or forged last change, by
// create, update, patch, and through the status
// Answer: 200, the server keeps its own
func TestStatusIsTheServers(t *testing.T) {
	uid := namespace(t, on, "status")
	ours, _ := clients(t, on)
	attributes := ours.AuthorityV1alpha1().ProtectedAttributes("status")
	check := func(what string, a *v1alpha1.ProtectedAttribute, err error) {
		t.Helper()
		if err != nil || string(a.Status.NamespaceUID) != uid || a.Status.LastChange == nil || a.Status.LastChange.User == "forged" {
			t.Errorf("%s: status %+v, error %v", what, a.Status, err)
		}
	}
	a := attribute("a")
	a.Status = v1alpha1.ProtectedAttributeStatus{NamespaceUID: "forged",
		LastChange: &v1alpha1.LastChange{User: "forged"}, AuditViolations: 4}
	a, err := attributes.Create(t.Context(), a, metav1.CreateOptions{})
	check("create", a, err)
	if a.Status.AuditViolations != 0 {
		t.Error("a create wrote the status")
	}
	a.Status.NamespaceUID, a.Status.LastChange.User, a.Status.AuditViolations = "forged", "forged", 4
	// The server also writes the status, so the update sends no resourceVersion, to avoid
	// conflicts.
	a.ResourceVersion = ""
	updated, err := attributes.Update(t.Context(), a.DeepCopy(), metav1.UpdateOptions{})
	check("update", updated, err)
	if updated.Status.AuditViolations != 0 || updated.Generation != 1 {
		t.Error("an update wrote the status")
	}
	a.Spec.Mode, a.Labels = v1alpha1.ModeAudit, map[string]string{"a": "b"}
	updated, err = attributes.UpdateStatus(t.Context(), a, metav1.UpdateOptions{})
	check("update of the status", updated, err)
	if updated.Status.AuditViolations != 4 || updated.Spec.Mode != v1alpha1.ModeEnforce || len(updated.Labels) != 0 {
		t.Errorf("an update of the status: %+v", updated)
	}
	forged := []byte(`{"status":{"namespaceUID":"forged","lastChange":{"user":"forged","generation":9}}}`)
	for _, subresource := range []string{"", "status"} {
		var path []string
		if subresource != "" {
			path = append(path, subresource)
		}
		updated, err = attributes.Patch(t.Context(), "a", types.MergePatchType, forged, metav1.PatchOptions{}, path...)
		check("patch "+subresource, updated, err)
	}
	updated, err = attributes.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"mode":"Audit"},"status":{"auditViolations":7}}`), metav1.PatchOptions{})
	check("patch of the specification", updated, err)
	if updated.Generation != 2 || updated.Status.LastChange.Generation != 2 || updated.Status.AuditViolations != 4 {
		t.Errorf("a patch of the specification: %+v", updated)
	}
	c := clusterAttribute("status")
	c.Status = v1alpha1.ProtectedAttributeStatus{NamespaceUID: "forged"}
	c, err = ours.AuthorityV1alpha1().ClusterProtectedAttributes().Create(t.Context(), c, metav1.CreateOptions{})
	if err != nil || c.Status.NamespaceUID != "" || c.Status.LastChange == nil {
		t.Errorf("a cluster attribute: %+v, error %v", c.Status, err)
	}
}
