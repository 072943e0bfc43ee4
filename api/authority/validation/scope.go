// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import authority "kube-granular.dev/api/authority/v1alpha1"

// clusterScoped are the cluster-scoped resources of upstream and of this project whose objects have
// labels and annotations. Cluster-scoped custom resources are not in the list. So a
// ProtectedAttribute, which applies in a namespace, can list such a custom resource, but has no
// effect on the objects of that resource.
var clusterScoped = func() map[authority.GroupResource]bool {
	out := map[authority.GroupResource]bool{}
	for group, resources := range map[string][]string{
		"":                             {"namespaces", "nodes", "persistentvolumes"},
		"admissionregistration.k8s.io": {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"},
		"apiextensions.k8s.io":         {"customresourcedefinitions"},
		"apiregistration.k8s.io":       {"apiservices"},
		authority.GroupName:            {"authoritydelegationpolicies", "authoritydelegations", "clusterprotectedattributes", "fieldpermissions"},
		"certificates.k8s.io":          {"certificatesigningrequests", "clustertrustbundles"},
		"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
		"internal.apiserver.k8s.io":    {"storageversions"},
		"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
		"node.k8s.io":                  {"runtimeclasses"},
		"rbac.authorization.k8s.io":    {"clusterrolebindings", "clusterroles"},
		"resource.k8s.io":              {"deviceclasses", "devicetaintrules", "resourcepoolstatusrequests", "resourceslices"},
		"scheduling.k8s.io":            {"priorityclasses"},
		"storage.k8s.io":               {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
		"storagemigration.k8s.io":      {"storageversionmigrations"},
	} {
		for _, resource := range resources {
			out[authority.GroupResource{Group: group, Resource: resource}] = true
		}
	}
	return out
}()

// ClusterScoped reports whether a built-in resource is cluster-scoped.
func ClusterScoped(r authority.GroupResource) bool { return clusterScoped[r] }
