// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/export"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// permissionExtension is how the extensions of a schema begin that a stock server does not store.
const permissionExtension = "x-kubernetes-permission-"

// export replaces the roles of the test by what stands in for them on a stock server. It is called when the
// definitions of the test are served.
func (g *given) export() error {
	test := *g.test
	test.Objects = nil
	read := export.NewRoles(metav1.NamespaceDefault)
	for i := range g.test.Objects {
		o := g.test.Objects[i]
		group := o.GroupVersionKind().Group
		switch {
		case o.GetKind() == "AuthorityDelegation", o.GetKind() == policyKind:
			g.notes = append(g.notes, fmt.Sprintf("%s: a stock server has no delegations, so the cases that select them are not judged", &o))
			continue
		case group != rbacv1.GroupName && group != v1alpha1.GroupName && o.GetKind() != "CustomResourceDefinition":
			test.Objects = append(test.Objects, o)
			continue
		case o.GetKind() == "CustomResourceDefinition":
			test.Objects = append(test.Objects, o)
		}
		if declared := g.definitions[o.GetName()]; declared != nil && o.GetKind() == "CustomResourceDefinition" {
			o.Unstructured = declared
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			return err
		}
		if err := read.Add(o.File, text); err != nil {
			return err
		}
	}
	cluster := export.ClusterKinds{Cluster: kinds.NewStock(g.server.kube.Discovery(), g.server.mapper),
		Definitions: read.Definitions, Entries: read.Entries()}
	result, err := export.Export(read, cluster, export.Options{})
	if errors.Is(err, export.ErrNothing) {
		g.notes = append(g.notes, "export: "+err.Error()+", so the roles stay as they are")
		return nil
	}
	if err != nil {
		return fmt.Errorf("export the roles: %w", err)
	}
	for _, note := range result.Notes {
		g.notes = append(g.notes, "export: "+note)
	}
	for _, object := range result.Objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return err
		}
		delete(content, "status")
		o := format.Object{Unstructured: &unstructured.Unstructured{Object: content}, File: g.test.File, Line: 1}
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		test.Objects = append(test.Objects, o)
	}
	g.test = &test
	return nil
}

// strip removes the permissions from the definitions of the test, because a stock server does not store them.
func (g *given) strip() {
	test := *g.test
	test.Objects = slices.Clone(test.Objects)
	g.definitions = map[string]*unstructured.Unstructured{}
	for i := range test.Objects {
		if o := &test.Objects[i]; o.GetKind() == "CustomResourceDefinition" {
			g.definitions[o.GetName()] = o.Unstructured
			o.Unstructured = o.DeepCopy()
			withoutPermissions(o.Object)
		}
	}
	g.test = &test
}

func withoutPermissions(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if strings.HasPrefix(name, permissionExtension) {
				delete(v, name)
			}
			withoutPermissions(value)
		}
	case []any:
		for _, value := range v {
			withoutPermissions(value)
		}
	}
}

// admissionPattern matches a refusal by an admission policy.
var admissionPattern = regexp.MustCompile(`ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: `)

// judgedExported is the outcome of a case whose roles are exported. The field and the verb of a refusal are not compared:
// a policy names the object around, and the ordinary role has no permissions.
func judgedExported(c *format.Case, err error) (Outcome, string) {
	refusal := ""
	if m := admissionPattern.FindStringSubmatch(fmt.Sprint(err)); m != nil && apierrors.IsForbidden(err) {
		refusal = "refused by the policy " + m[1]
	} else if d, refused := denialOf(err); refused {
		refusal = describe(d)
	} else if err != nil {
		return Error, "not an answer of authorization: " + reason(err)
	}
	switch {
	case (c.Refused == nil) == (refusal == ""):
		return Passed, cmp.Or(refusal, "allowed")
	case refusal == "" && weaker(c) != "":
		return Differs, weaker(c)
	case refusal != "" && c.Get != nil && c.Get.Metadata:
		return Differs, "a stock server has no reads of metadata alone"
	}
	return Failed, cmp.Or(refusal, "allowed")
}

// weaker returns why a stock server knowingly allows what a case expects to be refused, "" if it should not.
func weaker(c *format.Case) string {
	switch needs := c.Refused.Needs; {
	case c.As.Selecting():
		return "a stock server has no selected roles or delegations"
	case needs == "bind" || needs == "escalate" || needs == "delegate":
		return "nothing protects bindings of roles that protected attributes name"
	case strings.HasPrefix(needs, policyKind+"/"):
		return "a stock server has no " + policyKind
	}
	return ""
}

// fills reports whether the server changes other fields than a request does, also for an administrator.
func (s *Server) fills(ctx context.Context, r *request, c *format.Case) bool {
	change := map[string]any(nil)
	switch {
	case c.Create != nil:
		return true // a new object has defaults
	case c.Patch != nil:
		change = c.Patch.Merge
	case c.Update != nil:
		change = c.Update.Merge
	}
	if change == nil {
		return false
	}
	client := r.client(s.objects)
	text, err := json.Marshal(change)
	if err != nil {
		return false
	}
	stored, err := client.Get(ctx, r.name, metav1.GetOptions{}, r.read()...)
	if err != nil {
		return false
	}
	meant, err := merged(stored, text)
	if err != nil {
		return false
	}
	result, err := r.send(ctx, client)
	return err == nil && !reflect.DeepEqual(content(meant), content(result))
}

// waitForAdmission waits until the server uses all admission policies: until it refuses an object for a policy that was
// written last.
func (s *Server) waitForAdmission(ctx context.Context) error {
	s.round++
	name := fmt.Sprintf("%s-%d", sentinel, s.round)
	version := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	meta := map[string]any{"name": name}
	all := []struct {
		resource string
		object   map[string]any
	}{
		{"validatingadmissionpolicies", map[string]any{"kind": "ValidatingAdmissionPolicy", "spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{configMaps.Resource}, "operations": []any{"CREATE"}}}},
			"validations": []any{map[string]any{"expression": fmt.Sprintf("object.metadata.name != %q", name)}},
		}}},
		{"validatingadmissionpolicybindings", map[string]any{"kind": "ValidatingAdmissionPolicyBinding", "spec": map[string]any{
			"policyName": name, "validationActions": []any{"Deny"}}}},
	}
	for _, one := range all {
		one.object["apiVersion"], one.object["metadata"] = version.String(), meta
		if _, err := s.objects.Resource(version.WithResource(one.resource)).Create(ctx, &unstructured.Unstructured{Object: one.object},
			metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create a policy: %s", reason(err))
		}
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
	maps := s.objects.Resource(configMaps).Namespace(sentinelNamespace)
	if err := until(ctx, "the admission policies are in force", func(ctx context.Context) (bool, error) {
		_, err := maps.Create(ctx, probe, metav1.CreateOptions{DryRun: dryRun})
		return err != nil && strings.Contains(err.Error(), name+"'"), nil
	}); err != nil {
		return err
	}
	for _, one := range all {
		if err := s.objects.Resource(version.WithResource(one.resource)).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
