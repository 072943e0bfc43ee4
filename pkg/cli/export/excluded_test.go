// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
)

// boxKinds has a custom resource, with the entries of FieldPermissions.
type boxKinds struct {
	t         *testing.T
	entries   map[kubeschema.GroupResource]*overlay.Entries
	scale     bool
	scalePath string
	idle      []string
}

func (b boxKinds) Target(group, resource, subresource string) (*Target, error) {
	if subresource != "" {
		return nil, nil
	}
	return b.TargetWith(b.entries[kubeschema.GroupResource{Group: group, Resource: resource}], group, resource)
}

func (b boxKinds) TargetWith(entries *overlay.Entries, group, resource string) (*Target, error) {
	if group != "example.com" || resource != "boxes" {
		return nil, nil
	}
	text := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
	number := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"integer"}}}
	object := func(properties map[string]spec.Schema) spec.Schema {
		return spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: properties}}
	}
	author := *text
	author.VendorExtensible = spec.VendorExtensible{Extensions: spec.Extensions{schema.ExtVerb: "example.com/danger", schema.ExtExcluded: true}}
	root := object(map[string]spec.Schema{
		"metadata": {SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")}},
		"spec": object(map[string]spec.Schema{"size": *number, "replicas": *number, "danger": author,
			"policy": object(map[string]spec.Schema{"mode": *text, "level": *text}),
			"p":      object(map[string]spec.Schema{"q": object(map[string]spec.Schema{"x": *text, "z": *text})}),
			"p_q":    object(map[string]spec.Schema{"x": *text, "y": *text})}),
	})
	root.Extensions = spec.Extensions{"x-kubernetes-group-version-kind": []any{map[string]any{"group": "example.com", "version": "v1", "kind": "Box"}}}
	models := map[string]*spec.Schema{"com.example.v1.Box": &root}
	for name, model := range definitions() {
		if strings.Contains(name, ".meta.v1.") {
			models[name] = model
		}
	}
	marked, _, err := overlay.Apply(models, kubeschema.GroupVersionKind{Group: group, Version: "v1", Kind: "Box"}, entries, false)
	if err != nil {
		return nil, err
	}
	tree, err := schema.Compile(marked, "com.example.v1.Box")
	return &Target{Resource: kubeschema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Tree: tree, Namespaced: true,
		Custom: true, HasStatus: true, HasScale: b.scale, ScalePath: b.scalePath, Idle: b.idle}, err
}

func fieldsFile(mode string) string {
	return fmt.Sprintf(`
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: boxes.example.com}
spec:
  version: v1
  mode: %s
  fields:
  - {path: .spec.policy, permission: example.com/policy, excluded: true}
  - {path: .spec.policy.level, permission: example.com/level, excluded: true}
  - {path: .spec.replicas, permission: example.com/replicas, excluded: true}
  - {path: .spec.size, permission: example.com/size}
  - {path: .spec.p.q.x, permission: example.com/x, excluded: true}
  - {path: .spec.p_q.y, permission: example.com/y, excluded: true}
`, mode)
}

func exportBoxes(t *testing.T, text string, b boxKinds) (*Result, error) {
	t.Helper()
	roles := NewRoles("default")
	if err := roles.Add("file.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	b.t, b.entries = t, roles.Entries()
	return Export(roles, b, Options{Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: jane}}})
}

func box(fields map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "spec": fields}}
}

// TestFieldPermissions checks that an exclusion restricts every caller who may update, and that its verb opens it.
//
// Attack: two excluded fields have the same name in the policy, such as .spec.p.q and .spec.p_q, so that one of them is not compared
// Was: got through
// Answer: each has a variable of its own
// Attack: a path that is misspelled is left out of the policy, without a word
// Was: got through
// Answer: the export fails, and names the path
// Attack: a caller writes through a version that lacks an excluded field, and erases it
// Was: got through
// Answer: refused: the policy is for one version
func TestFieldPermissions(t *testing.T) {
	result, err := exportBoxes(t, fieldsFile("Enforce"), boxKinds{scale: true, scalePath: ".spec.replicas"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(result.Notes, "; "), "the verb bypass on fieldpermissions") {
		t.Errorf("the notes do not say that controllers are stopped: %q", result.Notes)
	}
	engines := map[string]*engine{}
	for _, o := range result.Objects {
		if policy, ok := o.(*admissionv1.ValidatingAdmissionPolicy); ok {
			engines[policy.Name] = compile(t, policy)
		}
	}
	fields := engines["field-permission-boxes.example.com"]
	target, _ := boxKinds{t: t}.Target("example.com", "boxes", "")
	before := map[string]any{"size": int64(1), "policy": map[string]any{"mode": "a", "level": "b"}}
	for name, tc := range map[string]struct {
		old, new map[string]any
		holds    []string
		allowed  bool
	}{
		"another field":               {before, map[string]any{"size": int64(2), "policy": before["policy"]}, nil, true},
		"one that an author excludes": {before, map[string]any{"size": int64(1), "danger": "x", "policy": before["policy"]}, nil, true},
		"an excluded field":           {before, map[string]any{"size": int64(1), "policy": map[string]any{"mode": "c", "level": "b"}}, nil, false},
		"by a holder":                 {before, map[string]any{"size": int64(1), "policy": map[string]any{"mode": "c", "level": "b"}}, []string{"granular:example.com/policy"}, true},
		"by a holder of another":      {before, map[string]any{"size": int64(1), "policy": map[string]any{"mode": "c", "level": "b"}}, []string{"granular:example.com/level"}, false},
		"inside, by its holder":       {before, map[string]any{"size": int64(1), "policy": map[string]any{"mode": "a", "level": "c"}}, []string{"granular:example.com/level"}, true},
		"inside, by one of around":    {before, map[string]any{"size": int64(1), "policy": map[string]any{"mode": "a", "level": "c"}}, []string{"granular:example.com/policy"}, true},
		"removed":                     {before, map[string]any{"size": int64(1)}, nil, false},
		"a create":                    {nil, before, nil, false},
		"a create without it":         {nil, map[string]any{"size": int64(1)}, nil, true},
		"a create by a holder":        {nil, before, []string{"granular:example.com/policy"}, true},
		"one of two names alike": {before, map[string]any{"size": int64(1), "policy": before["policy"],
			"p": map[string]any{"q": map[string]any{"x": "1"}}}, nil, false},
		"the other of them": {before, map[string]any{"size": int64(1), "policy": before["policy"],
			"p_q": map[string]any{"y": "1"}}, nil, false},
		"beside one of them": {before, map[string]any{"size": int64(1), "policy": before["policy"],
			"p": map[string]any{"q": map[string]any{"z": "1"}}}, nil, true},
		"bypass":   {before, map[string]any{"size": int64(1)}, []string{"bypass"}, true},
		"replicas": {before, map[string]any{"size": int64(1), "policy": before["policy"], "replicas": int64(2)}, nil, false},
	} {
		w := &write{new: box(tc.new), user: jane, holds: tc.holds, target: target, name: "a", namespace: "default"}
		if tc.old != nil {
			w.old = box(tc.old)
		}
		if allowed, broken, why := fields.allows(w); allowed != tc.allowed || broken {
			t.Errorf("%s: allowed %v (%s)", name, allowed, why)
		}
	}
	_, err = exportBoxes(t, fieldsFile("Enforce"), boxKinds{idle: []string{".spec.polcy (FieldAbsent)"}})
	if err == nil || !strings.Contains(err.Error(), ".spec.polcy (FieldAbsent)") {
		t.Errorf("a field that does not exist: %v", err)
	}
	other, _ := boxKinds{t: t}.Target("example.com", "boxes", "")
	other.Resource.Version = "v2"
	for holds, want := range map[string]bool{"": false, "bypass": true} {
		w := &write{old: box(map[string]any{"size": int64(1)}), new: box(map[string]any{"size": int64(2)}), user: jane, holds: []string{holds}, target: other, name: "a", namespace: "default"}
		if allowed, _, why := fields.allows(w); allowed != want {
			t.Errorf("through another version, with %q: allowed %v (%s)", holds, allowed, why)
		}
	}
	scale := engines["field-permission-boxes.example.com.scale"]
	for verb, allowed := range map[string]bool{"": false, "granular:example.com/replicas": true, "granular:example.com/policy": false} {
		w := &write{old: box(map[string]any{"replicas": int64(1)}), new: box(map[string]any{"replicas": int64(2)}), user: jane, holds: []string{verb}, target: target}
		if got, _, why := scale.allows(w); got != allowed {
			t.Errorf("scale with %q: allowed %v (%s)", verb, got, why)
		}
	}
}

// TestFieldPermissionFiles checks what is left out with a note, and what is refused.
func TestFieldPermissionFiles(t *testing.T) {
	if _, err := exportBoxes(t, fieldsFile("Audit"), boxKinds{}); err == nil || !strings.Contains(err.Error(), "nothing to export") {
		t.Errorf("mode Audit: %v", err)
	}
	if _, err := exportBoxes(t, fieldsFile("Enforce"), boxKinds{scale: true}); err == nil || !strings.Contains(err.Error(), "add the definition") {
		t.Errorf("an unknown field of scale: %v", err)
	}
	roles := fieldsFile("Enforce") + "---\n" + role(
		`- {apiGroups: [example.com], resources: [boxes], verbs: [get, granular, "granular:example.com/size", "granular:example.com/policy", "granular:labels"]}`)
	result, err := exportBoxes(t, roles, boxKinds{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range result.Objects {
		if made, ok := o.(*rbacv1.ClusterRole); ok && made.Name == "r" {
			if got := strings.Join(made.Rules[0].Verbs, " "); got != "get granular:example.com/size granular:example.com/policy" {
				t.Errorf("the ordinary role lacks what the policy asks for: %s", got)
			}
		}
	}
	if len(result.Limits) != len(FieldLimits) {
		t.Errorf("limits %q", result.Limits)
	}
}
