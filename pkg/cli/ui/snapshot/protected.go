// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
)

// addProtected adds the protected attributes, and to each kind those that apply to its objects. It is called
// when kinds and roles are known, and before cells.
func (m *maker) addProtected(input *Input) {
	for i := range input.Attributes {
		a := &input.Attributes[i]
		field, reserved := a.Field()
		out := model.Protected{
			Name: a.Name, Namespace: m.namespace(a.Namespace), Field: field, Key: a.Spec.AttributeName,
			Values: a.Spec.ProtectedValues, Mode: string(a.Spec.Mode), Role: model.None,
		}
		if ref := a.Spec.RoleRef; ref != nil {
			out.Role = m.roleOf(ref.Kind, ref.Name, a.Namespace)
			out.RoleText = fmt.Sprintf("%s %q", ref.Kind, ref.Name)
		} else {
			out.Verb = a.Verb(out.Key).String()
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
func applies(a *protected.Attribute, k *model.Kind) bool {
	return (a.Namespace == "" || k.Namespaced) && a.Selects(v1alpha1.GroupResource{Group: k.Group, Resource: k.Resource})
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
