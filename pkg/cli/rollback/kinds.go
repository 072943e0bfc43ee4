// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/api/selection"
)

const (
	extension = "x-kubernetes-permission-"
	// owned is how names begin that the server or one of its controllers chose.
	owned      = "system:kube-granular:"
	bootstrap  = "kubernetes.io/bootstrapping"
	ownedLease = "kube-granular-"
)

// definition finds the excluded fields of a definition, and its other extensions.
func definition(u *unstructured.Unstructured) []Finding {
	versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
	excluded, extended := map[string]bool{}, false
	for _, v := range versions {
		version, _ := v.(map[string]any)
		schema, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		eachSchema(schema, "", func(path string, schema map[string]any) {
			for key, value := range schema {
				extended = extended || strings.HasPrefix(key, extension)
				if key == extension+"excluded" && value == true {
					excluded[path] = true
				}
			}
		})
	}
	if !extended {
		return nil
	}
	const drops = "the permissions of its schema have no effect, and the server drops them when it writes the definition or its status: " +
		"keep it as a file"
	out := []Finding{{Effect: Lost, What: drops}}
	for _, path := range slices.Sorted(maps.Keys(excluded)) {
		out = append(out, Finding{Effect: Open, What: fmt.Sprintf("%s is excluded now: whoever holds update or patch may change it", path)})
	}
	return out
}

// eachSchema calls visit for a schema and all schemas in it, with the path to its fields.
func eachSchema(schema map[string]any, path string, visit func(path string, schema map[string]any)) {
	if schema == nil {
		return
	}
	visit(path, schema)
	properties, _ := schema["properties"].(map[string]any)
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		below, _ := properties[property].(map[string]any)
		eachSchema(below, path+"."+property, visit)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		below, _ := schema[key].(map[string]any)
		eachSchema(below, path+"[*]", visit)
	}
}

func fieldPermission(u *unstructured.Unstructured) []Finding {
	mode, _, _ := unstructured.NestedString(u.Object, "spec", "mode")
	fields, _, _ := unstructured.NestedSlice(u.Object, "spec", "fields")
	out := []Finding{{Effect: Left, What: "stays in storage, where no client sees it"}}
	for _, f := range fields {
		field, _ := f.(map[string]any)
		path, _, _ := unstructured.NestedString(field, "path")
		permission, _, _ := unstructured.NestedString(field, "permission")
		if excluded, _, _ := unstructured.NestedBool(field, "excluded"); excluded && mode == "Enforce" {
			what := fmt.Sprintf("%s of %s is closed now: whoever holds update or patch may change it", path, u.GetName())
			out = append(out, Finding{Effect: Open, What: what})
		} else if !excluded {
			out = append(out, Finding{Effect: Lost, What: fmt.Sprintf("%s of %s can't be granted by granular:%s", path, u.GetName(), permission)})
		}
	}
	return out
}

func protectedAttribute(u *unstructured.Unstructured) []Finding {
	kind, _, _ := unstructured.NestedString(u.Object, "spec", "attributeKind")
	key, _, _ := unstructured.NestedString(u.Object, "spec", "attributeName")
	out := []Finding{{Effect: Left, What: "stays in storage, where no client sees it"}}
	if mode, _, _ := unstructured.NestedString(u.Object, "spec", "mode"); mode != "Audit" {
		what := fmt.Sprintf("%s %s: whoever may change an object may set and remove it", strings.ToLower(kind), key)
		out = append(out, Finding{Effect: Open, What: what})
	}
	return out
}

func delegation(*unstructured.Unstructured) []Finding {
	return []Finding{
		{Effect: Lost, What: "its delegates have their own permissions only; the server ignores the header by which they select it"},
		{Effect: Left, What: "stays in storage, where no client sees it"},
	}
}

func delegationPolicy(*unstructured.Unstructured) []Finding {
	return []Finding{
		{Effect: Lost, What: "objects are stored without the stamps by which controllers act for their authors"},
		{Effect: Left, What: "stays in storage, where no client sees it"},
	}
}

func account(u *unstructured.Unstructured) []Finding {
	if u.GetAnnotations()[selection.BindingAnnotation] == "" {
		return nil
	}
	return []Finding{{Effect: Open, What: "acts with its own permissions, and not under its delegation; delete it, or what binds it to roles"}}
}

// role finds the verbs of a role that mean nothing to upstream's server.
func role(u *unstructured.Unstructured) []Finding {
	if strings.HasPrefix(u.GetName(), owned) {
		return []Finding{{Effect: Left, What: "a role that the server made"}}
	}
	if _, ok := u.GetLabels()[bootstrap]; ok {
		return nil
	}
	rules, _, _ := unstructured.NestedSlice(u.Object, "rules")
	granular, metadata := false, false
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		verbs, _, _ := unstructured.NestedStringSlice(rule, "verbs")
		for _, verb := range verbs {
			granular = granular || verb == "granular" || strings.HasPrefix(verb, "granular:")
			metadata = metadata || verb == "readmetadata"
		}
	}
	var out []Finding
	if granular {
		out = append(out, Finding{Effect: Lost, What: "its granular verbs allow nothing; kubectl granular export vap writes what can stand in"})
	}
	if metadata {
		out = append(out, Finding{Effect: Lost, What: "its verb readmetadata allows nothing"})
	}
	return out
}

func bootstrapBinding(u *unstructured.Unstructured) []Finding {
	if strings.HasPrefix(u.GetName(), owned) {
		return []Finding{{Effect: Left, What: "a binding that the server made"}}
	}
	return nil
}

func lease(u *unstructured.Unstructured) []Finding {
	if u.GetNamespace() == "kube-system" && strings.HasPrefix(u.GetName(), ownedLease) {
		return []Finding{{Effect: Left, What: "a lease of the server"}}
	}
	return nil
}

func apiService(u *unstructured.Unstructured) []Finding {
	if u.GetName() == "v1alpha1.authority.kube-granular.dev" {
		return []Finding{{Effect: Left, What: "registers a group that no server serves; delete it when all servers are upstream's"}}
	}
	return nil
}
