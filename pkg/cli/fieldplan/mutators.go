// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/cli/access"
)

// AddWebhooks adds the webhooks of a configuration that may change objects in which entries hold.
func (p *Plan) AddWebhooks(c *admissionv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		if slices.ContainsFunc(w.Rules, func(r admissionv1.RuleWithOperations) bool { return p.matches(&r.Rule) }) {
			p.Webhooks = append(p.Webhooks, fmt.Sprintf("webhook %s of %s", w.Name, c.Name))
		}
	}
}

// AddPolicy adds a policy if it may change objects in which entries hold.
func (p *Plan) AddPolicy(m *admissionv1.MutatingAdmissionPolicy) {
	match := m.Spec.MatchConstraints
	matches := func(r admissionv1.NamedRuleWithOperations) bool { return p.matches(&r.Rule) }
	if match == nil || !slices.ContainsFunc(match.ResourceRules, matches) {
		return
	}
	text := "MutatingAdmissionPolicy " + m.Name
	if kind := m.Spec.ParamKind; kind != nil {
		text += fmt.Sprintf(" (whoever may write its parameters, of kind %s, chooses what it sets)", kind.Kind)
	}
	p.Webhooks = append(p.Webhooks, text)
}

// matches reports whether a rule is for a resource in which entries hold, or for a subresource of one.
func (p *Plan) matches(rule *admissionv1.Rule) bool {
	return slices.ContainsFunc(slices.Concat([]string{p.FieldPermission}, p.Templates), func(name string) bool {
		resource := schema.GroupResource(validation.ResourceOf(name))
		return access.ContainsOrAll(rule.APIGroups, resource.Group) && slices.ContainsFunc(rule.Resources, func(text string) bool {
			plural, _, _ := strings.Cut(text, "/")
			return plural == "*" || plural == resource.Resource
		})
	})
}
