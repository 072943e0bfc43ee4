// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"slices"
	"strings"
	"testing"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubeapiserver/options"

	"kube-granular.dev/granular/overlay"
)

// pluginFields has what admission plugins set by something that a caller may choose, as RESOURCE PATH.
var pluginFields = map[string][]string{
	"ServiceAccount": {"pods .spec.imagePullSecrets", "pods .spec.containers[*].volumeMounts", "pods .spec.initContainers[*].volumeMounts",
		"pods .spec.volumes[*].projected", "pods .spec.automountServiceAccountToken"},
	"LimitRanger":                {"pods .spec.containers[*].resources", "pods .spec.initContainers[*].resources"},
	"Priority":                   {"pods .spec.priorityClassName", "pods .spec.priority", "pods .spec.preemptionPolicy"},
	"RuntimeClass":               {"pods .spec.overhead", "pods .spec.nodeSelector", "pods .spec.tolerations"},
	"PodNodeSelector":            {"pods .spec.nodeSelector"},
	"PodTolerationRestriction":   {"pods .spec.tolerations"},
	"ExtendedResourceToleration": {"pods .spec.tolerations"},
	"DefaultTolerationSeconds":   {"pods .spec.tolerations"},
	"AlwaysPullImages": {"pods .spec.containers[*].imagePullPolicy", "pods .spec.initContainers[*].imagePullPolicy",
		"pods .spec.ephemeralContainers[*].imagePullPolicy", "pods .spec.volumes[*].image.pullPolicy"},
	"TaintNodesByCondition": {"nodes .spec.taints"},
	"DefaultStorageClass":   {"persistentvolumeclaims .spec.storageClassName"},
	"DefaultIngressClass":   {"ingresses.networking.k8s.io .spec.ingressClassName"},
}

// fieldlessPlugins has the other admission plugins, with the reason why an exclusion holds beside them.
var fieldlessPlugins = map[string]string{
	"AlwaysAdmit":                          "it sets nothing",
	"AlwaysDeny":                           "it sets nothing",
	"CertificateApproval":                  "it validates",
	"CertificateSigning":                   "it validates",
	"CertificateSubjectRestriction":        "it validates",
	"ClusterTrustBundleAttest":             "it validates",
	"DenyServiceExternalIPs":               "it validates",
	"EventRateLimit":                       "it validates",
	"ImagePolicyWebhook":                   "an annotation",
	"LimitPodHardAntiAffinityTopology":     "it validates",
	"MutatingAdmissionPolicy":              "an administrator's, which kubectl granular field-permission plan lists",
	"MutatingAdmissionWebhook":             "an administrator's, which kubectl granular field-permission plan lists",
	"NamespaceAutoProvision":               "a namespace with a name alone",
	"NamespaceExists":                      "it validates",
	"NamespaceLifecycle":                   "it validates",
	"NodeDeclaredFeatureValidator":         "it validates",
	"NodeRestriction":                      "it validates",
	"OwnerReferencesPermissionEnforcement": "it validates",
	"PersistentVolumeClaimResize":          "it validates",
	"PodGroupProtection":                   "a finalizer of its own, of a resource that takes no exclusions",
	"PodResizeValidator":                   "it validates",
	"PodSecurity":                          "it validates",
	"PodTopologyLabels":                    "labels, which take no exclusions",
	"ResourceQuota":                        "it validates",
	"StorageObjectInUseProtection":         "a finalizer of its own, whatever the client sends",
	"ValidatingAdmissionPolicy":            "it validates",
	"ValidatingAdmissionWebhook":           "it validates",
}

// TestAdmissionPlugins goes over every admission plugin of Kubernetes: what it sets does not count as the caller's, so an
// exclusion of it must be refused, or its author warned.
//
// Attack: the mounts of containers are closed, and a pod has a volume named kube-api-access-x, which admission mounts
// Was: got through
// Answer: 422 for the exclusion
// Attack: a field that an admission plugin sets for the caller is closed, and a new plugin sets another
// Answer: 422, or a warning; a plugin without a row or a reason fails the test
func TestAdmissionPlugins(t *testing.T) {
	for _, name := range options.AllOrderedPlugins {
		if (len(pluginFields[name]) > 0) == (fieldlessPlugins[name] != "") {
			t.Errorf("admission plugin %s needs a row in pluginFields, or a reason in fieldlessPlugins", name)
		}
	}
	for name := range fieldlessPlugins {
		if !slices.Contains(options.AllOrderedPlugins, name) {
			t.Errorf("there is no admission plugin %s", name)
		}
	}
	kinds := kindsByDefinition(t)
	for name, fields := range pluginFields {
		if !slices.Contains(options.AllOrderedPlugins, name) {
			t.Errorf("there is no admission plugin %s", name)
		}
		for _, field := range fields {
			resource, text, _ := strings.Cut(field, " ")
			checkField(t, kinds, resource, text)
			path, err := overlay.ParsePath(text)
			if err != nil {
				t.Fatal(err)
			}
			gr := gvkschema.ParseGroupResource(resource)
			kind := legacyscheme.Scheme.PrioritizedVersionsForGroup(gr.Group)[0].WithKind(resources[resource].kind)
			e := &overlay.Entries{Source: resource, Version: kind.Version,
				Fields: []overlay.Field{{Path: path, Permission: "example.com/a", Excluded: true}}}
			byPlugin := func(w overlay.Indirect) bool { return w.By == "admission plugin "+name }
			warned := slices.ContainsFunc(overlay.WrittenFor(gr, path), byPlugin)
			if problems := overlay.Check(modelsOf(t, kind), kind, e); len(problems) == 0 && !warned {
				t.Errorf("%s sets %s, whose exclusion is accepted without a warning", name, field)
			}
		}
	}
}
