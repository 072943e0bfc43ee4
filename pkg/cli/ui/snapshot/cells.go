// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
)

// target is a kind in the form that rules are compared with.
type target struct {
	parts []access.Target
	// plain has the permission verbs without a parameter, by their text, and parameterized the others, by
	// the text before the parenthesis.
	plain, parameterized map[string]int
	// protected has the protected attributes whose verb counts, by the key that the verb names.
	protected []protectedKey
}

// protectedKey is a protected attribute that needs a verb for a key.
type protectedKey struct {
	index           int
	permission, key string
}

// addCells computes the cells of all rules.
func (m *maker) addCells() {
	for i := range m.out.Rules {
		rules := &m.out.Rules[i]
		for k := range m.targets {
			if cell := m.cell(rules.Rules, &m.targets[k]); len(cell) > 0 {
				rules.Cells = append(rules.Cells, k, intern(m.cells, &m.out.Cells, cell))
			}
		}
	}
}

// cell returns what rules hold on a kind.
func (m *maker) cell(rules []rbacv1.PolicyRule, t *target) model.Cell {
	var out model.Cell
	for part := range t.parts {
		held := holding{Held: model.Held{Part: part}}
		for i := range rules {
			if access.Covers(&rules[i], &t.parts[part]) && held.add(&rules[i], t) {
				held.Rules = append(held.Rules, i)
			}
		}
		if len(held.Rules) > 0 {
			out = append(out, held.complete())
		}
	}
	return out
}

// holding collects what rules hold on one part of a kind.
type holding struct{ model.Held }

// add adds what a rule about the part holds. It returns false if the rule holds nothing that counts, such as
// if it only lets read.
func (h *holding) add(rule *rbacv1.PolicyRule, t *target) bool {
	degree, counts := model.Yes, false
	if len(rule.ResourceNames) > 0 {
		degree = model.ByName
	}
	for _, verb := range rule.Verbs {
		switch {
		case verb == rbacv1.VerbAll:
			h.Update, h.Granular, h.All = max(h.Update, degree), max(h.Granular, degree), max(h.All, degree)
		case verb == "update" || verb == "patch":
			h.Update = max(h.Update, degree)
		case verb == permission.General:
			h.Granular = max(h.Granular, degree)
		case !permission.IsVerb(verb) || !h.permission(verb, degree, t):
			continue
		}
		counts = true
	}
	if counts && degree == model.ByName {
		h.Names = append(h.Names, rule.ResourceNames...)
	}
	return counts
}

// permission adds a permission verb. It returns false if no field of the kind has it.
func (h *holding) permission(verb string, degree int, t *target) bool {
	if i, ok := t.plain[verb]; ok {
		if degree == model.Yes {
			h.Verbs = append(h.Verbs, i)
		} else {
			h.Some = append(h.Some, i)
		}
		return true
	}
	stem, parameter, ok := strings.Cut(verb, "(")
	if !ok {
		return false
	}
	if i, ok := t.parameterized[stem]; ok {
		h.Some = append(h.Some, i)
		return true
	}
	counts := false
	for _, p := range t.protected {
		if stem == permission.General+":"+p.permission && protected.Includes(p.key, strings.TrimSuffix(parameter, ")")) {
			h.Protected, counts = append(h.Protected, p.index), true
		}
	}
	return counts
}

// complete returns what is held, each thing once and in order.
func (h *holding) complete() model.Held {
	out := h.Held
	out.Verbs, out.Protected, out.Names = unique(out.Verbs), unique(out.Protected), unique(out.Names)
	out.Some = slices.DeleteFunc(unique(out.Some), func(i int) bool { return slices.Contains(out.Verbs, i) })
	if len(out.Names) > model.MaxNames {
		out.Names = out.Names[:model.MaxNames]
	}
	return out
}

// unique returns the values in order, each once.
func unique[T interface{ ~int | ~string }](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}
