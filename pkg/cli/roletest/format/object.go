// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package format

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/printing"
)

// webhookConfigurations are the kinds that make the server send requests to an address, if a webhook has rules.
var webhookConfigurations = []string{
	"MutatingWebhookConfiguration.admissionregistration.k8s.io",
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io",
}

// unjudged are kinds that the server begins to apply at a time that no request shows. A case would
// pass or fail by chance.
var unjudged = []string{
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
}

// ServerOwned returns the fields of metadata that only the server sets.
func ServerOwned() []string {
	return []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink"}
}

// add adds one object, or those of a list.
func (r *reader) add(value any, file string, p place, creator *Subject) {
	m, ok := value.(map[string]any)
	if !ok {
		r.mistakes.add(file, p.line, p.path, "not an object of Kubernetes")
		return
	}
	o := Object{&unstructured.Unstructured{Object: m}, file, p.line, creator}
	if o.GetAPIVersion() == "" || o.GetKind() == "" {
		r.mistakes.add(file, p.line, p.path, "the object has no apiVersion or no kind")
		return
	}
	if items, ok := m["items"].([]any); ok && o.GetKind() == "List" && o.GetAPIVersion() == "v1" {
		for i, one := range items {
			r.add(one, file, p.field("items").item(i), creator)
		}
		return
	}
	gvk := o.GroupVersionKind()
	kind := gvk.Kind + "." + gvk.Group
	fail := func(path, format string, args ...any) {
		child := p
		if path != "" {
			for name := range strings.SplitSeq(path, ".") {
				child = child.field(name)
			}
		}
		r.mistakes.add(file, child.line, child.path, format, args...)
	}
	if kind == "AuthorizationConfiguration.apiserver.config.k8s.io" {
		r.authorization(m, fail)
		return
	}
	switch {
	case kind == "APIService.apiregistration.k8s.io" && !r.allowNetwork:
		fail("", "an APIService makes the server connect to an address, which needs --allow-network")
	case slices.Contains(webhookConfigurations, kind) && !uncallable(m) && !r.allowNetwork:
		fail("", "a %s makes the server connect to an address, which needs --allow-network, or webhooks without rules",
			gvk.Kind)
	case convertsByWebhook(m) && kind == "CustomResourceDefinition.apiextensions.k8s.io" && !r.allowNetwork:
		fail("spec.conversion", "a conversion webhook makes the server connect to an address, which needs --allow-network")
	case slices.Contains(unjudged, kind):
		fail("", "a test does not judge admission policies, so a %s can't be given", gvk.Kind)
	case gvk.Kind == Kind && strings.HasPrefix(gvk.Group, "test.kube-granular.dev"):
		fail("", "a %s is a file and never an object; name its objects", Kind)
	case o.GetName() == "":
		fail("metadata.name", "the object has no name")
	case kind == "AuthorityDelegation."+v1alpha1.GroupName && creator == nil:
		fail("", "a delegation needs its delegator: write as: {user: …} beside object or files. The server gives a delegate no more than its creator has, and an administrator has everything")
	}
	metadata, _ := m["metadata"].(map[string]any)
	for _, name := range append(ServerOwned(), "generateName") {
		if _, ok := metadata[name]; ok {
			fail("metadata."+name, "the server sets this field")
		}
	}
	if len(r.test.Objects) == maxObjects {
		fail("", "a test may have %d objects", maxObjects)
	}
	if len(r.test.Objects) < maxObjects {
		r.test.Objects = append(r.test.Objects, o)
	}
}

// uncallable reports whether a webhook configuration is a list of webhooks without rules. The server calls a webhook
// for the requests that its rules name, so it calls none of these. They stay so, because all cases are dry runs.
func uncallable(configuration map[string]any) bool {
	webhooks, ok := configuration["webhooks"].([]any)
	return ok && len(webhooks) > 0 && !slices.ContainsFunc(webhooks, func(one any) bool {
		webhook, ok := one.(map[string]any)
		rules, given := webhook["rules"]
		list, isList := rules.([]any)
		return !ok || given && (!isList || len(list) > 0)
	})
}

func convertsByWebhook(definition map[string]any) bool {
	strategy, _, err := unstructured.NestedString(definition, "spec", "conversion", "strategy")
	return err != nil || strategy != "" && strategy != "None"
}

// authorization takes an authorization configuration. Webhooks are refused even with --allow-network:
// the answers of a webhook are not in the files, so a test would prove nothing about them.
func (r *reader) authorization(config map[string]any, fail func(path, format string, args ...any)) {
	if r.test.Authorization != nil {
		fail("", "a test may have one authorization configuration")
		return
	}
	rbac := false
	authorizers, _, err := unstructured.NestedSlice(config, "authorizers")
	for _, one := range authorizers {
		a, _ := one.(map[string]any)
		switch a["type"] {
		case "RBAC":
			rbac = true
		case "Node":
		default:
			fail("authorizers", "only authorizers of the types RBAC and Node can be tested")
			return
		}
	}
	if !rbac || err != nil {
		fail("authorizers", "there must be an authorizer of the type RBAC")
		return
	}
	text, err := printing.MarshalYAML(config)
	if err != nil {
		fail("", "%v", err)
	}
	r.test.Authorization = text
}
