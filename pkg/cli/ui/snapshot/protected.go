// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/ui/model"
)

// addProtected adds the protected attributes, and to each kind those that apply to its objects. It is called
// when kinds and roles are known, and before cells.
func (m *maker) addProtected(input *Input) {
	for i := range input.Attributes {
		a := &input.Attributes[i]
		out := model.Protected{
			Name: a.Name, Namespace: m.namespace(a.Namespace), Field: "labels", Key: a.Spec.AttributeName,
			Values: a.Spec.ProtectedValues, Mode: string(a.Spec.Mode), Role: model.None,
		}
		reserved := permission.ProtectedLabel
		if a.Spec.AttributeKind == v1alpha1.AttributeAnnotation {
			out.Field, reserved = "annotations", permission.ProtectedAnnotation
		}
		if ref := a.Spec.RoleRef; ref != nil {
			out.Role = m.roleOf(ref.Kind, ref.Name, a.Namespace)
			out.RoleText = fmt.Sprintf("%s %q", ref.Kind, ref.Name)
		} else {
			out.Verb = permission.Verb{Permission: reserved, Parameter: out.Key, Parameterized: true}.String()
		}
		m.out.Protected = append(m.out.Protected, out)
		for k := range m.out.Kinds {
			if !applies(a, &m.out.Kinds[k]) {
				continue
			}
			kind := &m.out.Kinds[k]
			kind.Protected = append(kind.Protected, i)
			if len(a.Spec.Resources) > 0 {
				kind.Rank = rankProtected
			}
			if out.Role == model.None {
				m.targets[k].protected = append(m.targets[k].protected, protectedKey{i, reserved, out.Key})
			}
		}
	}
}

// applies reports whether an attribute protects labels or annotations of a kind.
func applies(a *Attribute, k *model.Kind) bool {
	if a.Namespace != "" && !k.Namespaced {
		return false
	}
	resource := v1alpha1.GroupResource{Group: k.Group, Resource: k.Resource}
	return (len(a.Spec.Resources) == 0 || slices.Contains(a.Spec.Resources, resource)) && !slices.Contains(a.Spec.ExcludeResources, resource)
}

// The ranks of kinds; see model.Kind.
const (
	rankProtected = 3
	rankPowerful  = 2
)

// rankOf returns the rank of a kind without protected attributes.
func rankOf(resource schema.GroupResource, excluded bool) int {
	switch {
	case excluded:
		return rankProtected
	case resource == schema.GroupResource{Resource: "secrets"},
		resource.Group == "rbac.authorization.k8s.io", resource.Group == "admissionregistration.k8s.io", resource.Group == v1alpha1.GroupName:
		return rankPowerful
	}
	return 0
}
