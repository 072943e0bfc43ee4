// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	generated "k8s.io/kubernetes/pkg/generated/openapi"

	crdgenerated "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	aggregatorgenerated "k8s.io/kube-aggregator/pkg/generated/openapi"

	"kube-granular.dev/granular/schema"
)

// models returns the OpenAPI models of a server, by name.
func models(definitions common.GetOpenAPIDefinitions) map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	for name, definition := range definitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	}) {
		model := definition.Schema
		out[name] = &model
	}
	return out
}

// chain returns the permissions that cover a field, from the most general to the most specific.
// In the path, "*" stands for an element of a map or list.
func chain(t *testing.T, tree *schema.Tree, path string) string {
	t.Helper()
	node := tree.Root
	for _, field := range strings.Split(path, ".") {
		next := node.Child(field)
		if field == "*" {
			next = node.Elem()
		}
		if next == nil {
			break
		}
		node = next
	}
	var names []string
	for _, p := range node.Chain() {
		name := p.Name
		if p.Parameter != nil {
			name += "(" + p.Parameter.Source + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestMarkers checks that the permission markers on Go types arrive, through the patched
// generators, in the OpenAPI models that the servers use.
func TestMarkers(t *testing.T) {
	core := models(generated.GetOpenAPIDefinitions)
	tests := map[string]struct {
		models map[string]*spec.Schema
		name   string
		want   map[string]string
	}{
		"deployment": {core, "io.k8s.api.apps.v1.Deployment", map[string]string{
			"metadata.generateName":                   "metadata",
			"metadata.labels":                         "metadata labels",
			"metadata.labels.*":                       "metadata labels label(label-key)",
			"metadata.annotations.*":                  "metadata annotations annotation(annotation-key)",
			"metadata.finalizers.*":                   "metadata finalizers finalizer(finalizer-name)",
			"metadata.ownerReferences":                "metadata ownerReferences",
			"spec.strategy":                           "specification rolloutStrategy",
			"spec.replicas":                           "specification replicas",
			"spec.template":                           "specification podTemplate",
			"spec.template.metadata.labels.*":         "specification podTemplate podTemplateMetadata podTemplateLabels podTemplateLabel(label-key)",
			"spec.template.spec.nodeName":             "specification podTemplate podTemplateSpecification podTemplateNodeAssignment",
			"status.replicas":                         "status",
			"status.conditions":                       "status conditions",
			"status.conditions.*":                     "status conditions condition(condition-type)",
			"spec.paused":                             "specification pause",
			"spec.template.spec.containers.*.image":   "specification podTemplate podTemplateSpecification podTemplateContainer(container-name) podTemplateImage podTemplateContainerImage(container-name) podTemplateImageFrom(self)",
			"spec.template.spec.containers.*.command": "specification podTemplate podTemplateSpecification podTemplateContainer(container-name)",
			"spec.template.spec.schedulingGates.*":    "specification podTemplate podTemplateSpecification podTemplateSchedulingGates podTemplateSchedulingGate(scheduling-gate)",
		}},
		"pod": {core, "io.k8s.api.core.v1.Pod", map[string]string{
			"spec.nodeName":       "specification nodeAssignment",
			"status.conditions.*": "status conditions condition(condition-type)",
		}},
		"scale": {core, "io.k8s.api.autoscaling.v1.Scale", map[string]string{
			"spec.replicas": "specification replicas",
		}},
		"images and the rest of a pod": {core, "io.k8s.api.core.v1.Pod", map[string]string{
			"spec.initContainers.*.image":      "specification initContainer(init-container-name) image initContainerImage(init-container-name) imageFrom(self)",
			"spec.ephemeralContainers.*.image": "specification ephemeralContainer(ephemeral-container-name) image ephemeralContainerImage(ephemeral-container-name) imageFrom(self)",
			"spec.containers.*.name":           "specification container(container-name)",
			"spec.volumes.*.image.reference":   "specification",
			"status.containerStatuses":         "status",
		}},
		"job": {core, "io.k8s.api.batch.v1.Job", map[string]string{
			"status.conditions":   "status conditions",
			"status.conditions.*": "status conditions",
		}},
		"cron job": {core, "io.k8s.api.batch.v1.CronJob", map[string]string{
			"spec.suspend":                                     "specification suspension",
			"spec.jobTemplate.spec.suspend":                    "specification jobTemplate jobTemplateSpecification jobTemplateSuspension",
			"spec.jobTemplate.metadata.labels.*":               "specification jobTemplate jobTemplateMetadata jobTemplateLabels jobTemplateLabel(label-key)",
			"spec.jobTemplate.spec.template.metadata.labels.*": "specification jobTemplate jobTemplateSpecification podTemplate podTemplateMetadata podTemplateLabels podTemplateLabel(label-key)",
		}},
		"a metav1.Condition": {core, "io.k8s.api.policy.v1.PodDisruptionBudget", map[string]string{
			"status.conditions.*": "status conditions condition(condition-type)",
		}},
		"conditions of something inside": {core, "io.k8s.api.resource.v1.ResourceClaim", map[string]string{
			"status.devices.*.conditions.*": "status device deviceConditions deviceCondition(condition-type)",
		}},
		"a kind without spec": {core, "io.k8s.api.core.v1.ConfigMap", map[string]string{
			"metadata.labels.*": "metadata labels label(label-key)",
			"data":              "data",
			"binaryData":        "data",
			"immutable":         "immutability",
		}},
		"a spec that is a scope": {core, "io.k8s.api.resource.v1.ResourceClaimTemplate", map[string]string{
			"spec":                                 "specification resourceClaimTemplate",
			"spec.metadata.labels":                 "specification resourceClaimTemplate resourceClaimTemplateMetadata resourceClaimTemplateLabels",
			"spec.spec.devices.requests.*.exactly": "specification resourceClaimTemplate resourceClaimTemplateSpecification",
			"spec.spec.devices.requests.*.exactly.tolerations": "specification resourceClaimTemplate resourceClaimTemplateSpecification resourceClaimTemplateTolerations",
		}},
		"node": {core, "io.k8s.api.core.v1.Node", map[string]string{
			"spec.unschedulable": "specification schedulability",
			"spec.taints":        "specification taints",
			"spec.providerID":    "specification",
		}},
		"a volume inside an attachment": {core, "io.k8s.api.storage.v1.VolumeAttachment", map[string]string{
			"spec.source.inlineVolumeSpec":          "specification inlineVolume",
			"spec.source.inlineVolumeSpec.capacity": "specification inlineVolume inlineVolumeCapacity",
		}},
		"role": {core, "io.k8s.api.rbac.v1.ClusterRole",
			map[string]string{"rules": "rules", "aggregationRule": "aggregation"}},
		"role binding": {core, "io.k8s.api.rbac.v1.RoleBinding",
			map[string]string{"subjects": "subjects", "roleRef": "roleReference"}},
		"webhook": {core, "io.k8s.api.admissionregistration.v1.ValidatingWebhookConfiguration", map[string]string{
			"webhooks.*.clientConfig.url":      "webhooks",
			"webhooks.*.clientConfig.caBundle": "webhooks trustAnchors",
		}},
		"custom resource definition": {models(crdgenerated.GetOpenAPIDefinitions), "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition", map[string]string{
			"metadata.labels.*":   "metadata labels label(label-key)",
			"spec.group":          "specification",
			"status.conditions.*": "status conditions condition(condition-type)",
		}},
		"APIService": {models(aggregatorgenerated.GetOpenAPIDefinitions), "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService", map[string]string{
			"metadata.finalizers.*": "metadata finalizers finalizer(finalizer-name)",
			"spec.service":          "specification",
			"status.conditions.*":   "status conditions condition(condition-type)",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := schema.Compile(tc.models, tc.name)
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range tc.want {
				if got := chain(t, tree, path); got != want {
					t.Errorf(".%s is covered by %q, wanted %q", path, got, want)
				}
			}
		})
	}
}

// TestEveryKindCompiles checks that no built-in kind has malformed markers. The server would
// refuse every granular change of such a kind.
func TestEveryKindCompiles(t *testing.T) {
	all := models(generated.GetOpenAPIDefinitions)
	kinds := 0
	for name, model := range all {
		if _, isKind := model.Properties["metadata"]; !isKind || strings.HasSuffix(name, "List") {
			continue
		}
		kinds++
		if _, err := schema.Compile(all, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if kinds < 100 {
		t.Fatalf("only %d kinds were found", kinds)
	}
}
