// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// guardedPrefix is the prefix of the guarded keys. The rule that is measured is: only callers with
// a certain permission may change a guarded key.
const guardedPrefix = "super.safe.com/"

// subject is a map in a resource whose guarded keys the rule protects.
type subject struct {
	group, resource, kind string
	// keys is the path of the map in the object. verb is the verb that permits a change of guarded
	// keys. free is the verb that permits a change of freeKey, which the rule does not protect.
	keys       []string
	verb, free string
	object     func(name string) metav1.Object
}

const freeKey = "other.example.com/x"

// subjects maps resources to the subjects of the rule. For notes and marks, which are custom
// resources, the map is in spec, because a definition can't declare permissions for metadata. For
// marks, the permission is excluded: update does not include it.
var subjects = map[string]subject{
	"pods":  {"", "pods", "Pod", []string{"metadata", "labels"}, "granular:label(super.safe.com)", "granular:label(other.example.com)", pod},
	"notes": {group, "notes", "Note", []string{"spec", "marks"}, "granular:" + group + "/mark(super.safe.com)", "granular:label(other.example.com)", sheet("Note")},
	"marks": {group, "marks", "Mark", []string{"spec", "marks"}, "granular:" + group + "/mark(super.safe.com)", "granular:label(other.example.com)", sheet("Mark")},
}

func (s subject) collection(namespace string) string {
	if s.group == "" {
		return fmt.Sprintf("/api/v1/namespaces/%s/%s", namespace, s.resource)
	}
	return fmt.Sprintf("/apis/%s/v1/namespaces/%s/%s", s.group, namespace, s.resource)
}

// sheet returns a function that makes a custom resource with a map of marks and some other fields.
func sheet(kind string) func(name string) metav1.Object {
	return func(name string) metav1.Object {
		marks, text := map[string]any{}, map[string]any{}
		for i := range 6 {
			marks[fmt.Sprintf("example.com/m%d", i)] = "v"
		}
		for i := range 60 {
			text[fmt.Sprintf("t%d", i)] = "value"
		}
		return custom(kind, name, map[string]any{"marks": marks, "text": text})
	}
}

// sheetDefinition returns the definition of a custom resource whose objects the function sheet
// makes. If marked is true, changes of the map marks need a permission, which only a patched
// server understands. If excluded is true, the verb update does not include that permission.
func sheetDefinition(kind, plural string, marked, excluded bool) map[string]any {
	mark := map[string]any{"type": "string"}
	marks := map[string]any{"type": "object", "additionalProperties": mark}
	spec := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"marks": marks,
			"text":  map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
		},
	}
	if marked {
		spec["x-kubernetes-permission-verb"] = "specification"
		marks["x-kubernetes-permission-parameter-source"] = "mark"
		mark["x-kubernetes-permission-verb"] = group + "/mark"
		mark["x-kubernetes-permission-parameterized-by"] = "mark"
		mark["x-kubernetes-permission-parameter-treatment"] = "slash-delimited-prefix"
	}
	if excluded {
		mark["x-kubernetes-permission-excluded"] = true
	}
	return definition(kind, plural, spec)
}

// ruleLabel is a label of namespaces. Its value says in which way the rule is in force in the
// namespace.
const ruleLabel = "bench-rule"

func selects(rule string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{ruleLabel: rule}}
}

// enforcePolicy enforces the rule by an admission policy that makes an authorization check.
func (a administrator) enforcePolicy(ctx context.Context, s subject) error {
	const path = "/apis/admissionregistration.k8s.io/v1/"
	name := "guard-" + s.resource
	// For example .metadata.?labels.orValue({}).
	keys := "." + strings.Join(s.keys[:len(s.keys)-1], ".") + ".?" + s.keys[len(s.keys)-1] + ".orValue({})"
	guarded := fmt.Sprintf("!k.startsWith('%s')", guardedPrefix)
	policy := admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: s.updates()}}},
			Variables: []admissionregistrationv1.Variable{
				{Name: "before", Expression: "oldObject" + keys},
				{Name: "after", Expression: "object" + keys},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "(variables.after.all(k, " + guarded + " || (k in variables.before && variables.before[k] == variables.after[k]))" +
					" && variables.before.all(k, " + guarded + " || k in variables.after))" +
					" || authorizer.requestResource.check('" + s.verb + "').allowed()",
				Message: "a guarded key was changed",
			}},
		},
	}
	if err := a.apply(ctx, path+"validatingadmissionpolicies/"+name, policy); err != nil {
		return err
	}
	return a.apply(ctx, path+"validatingadmissionpolicybindings/"+name, admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        name,
			MatchResources:    &admissionregistrationv1.MatchResources{NamespaceSelector: selects(byPolicy)},
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	})
}

func (s subject) updates() admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{s.group}, APIVersions: []string{"v1"}, Resources: []string{s.resource}},
	}
}

// enforceWebhook enforces the rule by the webhook at a URL.
func (a administrator) enforceWebhook(ctx context.Context, url string, ca []byte) error {
	none, always := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail
	w := admissionregistrationv1.ValidatingWebhook{
		Name: "guard.bench.example.com", AdmissionReviewVersions: []string{"v1"}, SideEffects: &none, FailurePolicy: &always,
		ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca},
		NamespaceSelector: selects(byWebhook),
	}
	for _, resource := range []string{"pods", "notes"} {
		w.Rules = append(w.Rules, subjects[resource].updates())
	}
	return a.apply(ctx, "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/guard", admissionregistrationv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{w},
	})
}

// rules returns the RBAC rule for the caller in a namespace. by is the way in which the rule about
// guarded keys is in force there. If holder is true, the caller gets the permission for guarded
// keys.
func (s subject) rules(way string, holder bool) rbacv1.PolicyRule {
	verbs := []string{"get", "update"}
	if way == byGrant {
		verbs = []string{"get", "granular"}
		if !holder {
			verbs = append(verbs, s.free)
		}
	}
	switch {
	case !holder:
	case way == byAttribute:
		verbs = append(verbs, protectedVerb)
	case way != byRole:
		verbs = append(verbs, s.verb)
	}
	return rule(s.group, verbs, s.resource)
}
