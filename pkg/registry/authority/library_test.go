// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"math/rand"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/protect"
)

// TestLibraryTakesWhatIsValid holds that package protect, which decides about writes, finds no
// problem in a specification that the server accepts, so that every accepted attribute protects.
// The server may refuse more specifications than protect does.
func TestLibraryTakesWhatIsValid(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	pick := func(all ...string) string { return all[random.Intn(len(all))] }
	keys := []string{
		"", "env", "example.com/tier", "example.com/*", "Example.com/tier", "Example.com/*", "*", "*/*", "/*", "a/b/c", "a b", "a/*b", "kubernetes.io/*", "-a/b",
		"kubernetes.io/metadata.name", "kubernetes.io/service-name", "pod-template-hash", "deployment.kubernetes.io/revision", "batch.kubernetes.io/job-tracking",
		"endpoints.kubernetes.io/over-capacity", "service.kubernetes.io/headless", "job-name", "batch.kubernetes.io/job-completion-index",
		"pods.authority.kube-granular.dev/p", "deployments.apps.authority.kube-granular.dev/*", "authority.kube-granular.dev/*",
	}
	list := func(values ...string) (out []string) {
		for range random.Intn(3) {
			out = append(out, pick(values...))
		}
		return out
	}
	resources := func() (out []v1alpha1.GroupResource) {
		for range random.Intn(3) {
			out = append(out, v1alpha1.GroupResource{Group: pick("", "apps", "events.k8s.io", "*", "Apps", "apps/v1"), Resource: pick("pods", "events", "nodes", "*", "", "pods/status", "Pods", "a.b")})
		}
		return out
	}
	accepted := 0
	for range 200000 {
		spec := v1alpha1.ProtectedAttributeSpec{
			AttributeKind:   v1alpha1.AttributeKind(pick("Label", "Annotation", "Label", "Annotation", "Taint")),
			AttributeName:   pick(keys...),
			Mode:            v1alpha1.Mode(pick("Enforce", "Audit", "Enforce", "")),
			ProtectedValues: list("", "gold", "not a value", strings.Repeat("a", 64), strings.Repeat("a", 4096), strings.Repeat("a", 4097)),
			Resources:       resources(), ExcludeResources: resources(),
		}
		if random.Intn(2) == 0 {
			spec.AllowedValues = list("gold", "silver")
		}
		if random.Intn(2) == 0 {
			spec.RoleRef = &v1alpha1.RoleReference{APIGroup: v1alpha1.RoleGroup,
				Kind: pick("Role", "ClusterRole", "Group", ""), Name: pick("a", "a:b", "", ".", "a/b", "a%b")}
		}
		scope, namespace := validation.Namespaced, "n"
		if random.Intn(2) == 0 {
			scope, namespace = validation.Cluster, ""
		}
		if len(validation.Spec(&spec, scope, field.NewPath("spec"))) > 0 {
			continue
		}
		accepted++
		entry := protect.Entry{
			Name: "a", Namespace: namespace, Kind: protect.KindOf(string(spec.AttributeKind)), Key: spec.AttributeName, Mode: protect.Mode(spec.Mode),
			ProtectedValues: spec.ProtectedValues, AllowedValues: spec.AllowedValues,
		}
		if spec.RoleRef != nil {
			entry.Role = protect.RoleRef{Kind: spec.RoleRef.Kind, Name: spec.RoleRef.Name}
		}
		for _, r := range spec.Resources {
			entry.Resources = append(entry.Resources, protect.Resource(r))
		}
		for _, r := range spec.ExcludeResources {
			entry.ExcludeResources = append(entry.ExcludeResources, protect.Resource(r))
		}
		if problems := entry.Problems(); len(problems) > 0 {
			t.Errorf("the server accepts a specification in which package protect finds problems: %v: %+v", problems, spec)
		}
	}
	if accepted < 500 {
		t.Errorf("only %d were accepted", accepted)
	}
	t.Logf("%d were accepted", accepted)
}

// TestReservedKeysAgree checks that a key that the server refuses in an attribute is not protected by
// an attribute for its domain either, and the reverse.
func TestReservedKeysAgree(t *testing.T) {
	for _, key := range []string{
		"env", "example.com/tier", "controller.kubernetes.io/pod-deletion-cost",
		"kubernetes.io/metadata.name", "kubernetes.io/service-name", "service.kubernetes.io/headless",
		"endpoints.kubernetes.io/managed-by", "endpointslice.kubernetes.io/managed-by",
		"pod-template-hash", "pod-template-generation", "controller-revision-hash", "controller.kubernetes.io/hash",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "controller-uid", "job-name",
		"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index",
		"batch.kubernetes.io/job-tracking", "batch.kubernetes.io/job-index-failure-count", "batch.kubernetes.io/cronjob-scheduled-timestamp",
		"endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity",
		"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
		"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
		"deprecated.daemonset.template.generation", "deprecated.deployment.rollback.revision",
		"pods.authority.kube-granular.dev/p",
	} {
		for _, kind := range []v1alpha1.AttributeKind{v1alpha1.AttributeLabel, v1alpha1.AttributeAnnotation} {
			spec := v1alpha1.ProtectedAttributeSpec{AttributeKind: kind, AttributeName: key, Mode: v1alpha1.ModeEnforce}
			refused := len(validation.Spec(&spec, validation.Namespaced, field.NewPath("spec"))) > 0
			if reserved := protect.Reserved(protect.KindOf(string(kind)), key); reserved != refused {
				t.Errorf("%s %s: reserved %t, refused by the server %t", kind, key, reserved, refused)
			}
		}
	}
}
