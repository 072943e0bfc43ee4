// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

// closedPath is a field that takes no exclusion.
type closedPath struct{ path, reason string }

// closedPaths has the fields of built-in resources that take no exclusion although the effects of
// the server's own code do not show why.
var closedPaths = map[string][]closedPath{
	"pods": {
		{".spec.nodeName", "a binding sets the node of a pod"},
		{".spec.securityContext.appArmorProfile", "an annotation sets the AppArmor profile too"},
		{".spec.containers[*].securityContext.appArmorProfile", "an annotation sets the AppArmor profile too"},
		{".spec.initContainers[*].securityContext.appArmorProfile", "an annotation sets the AppArmor profile too"},
		{".spec.tolerations", "admission adds tolerations"},
		{".spec.priority", "admission sets it by the priority class"},
		{".spec.preemptionPolicy", "admission sets it by the priority class"},
		{".spec.overhead", "admission sets it by the runtime class"},
		{".spec.nodeSelector", "admission adds the node selector of the runtime class"},
	},
	"nodes": {{".spec", "kubelets and cloud providers write it when a node registers"}},
	"ingresses.networking.k8s.io": {
		{".spec.ingressClassName", "the annotation kubernetes.io/ingress.class means the same"},
	},
	"persistentvolumeclaims": {
		{".spec.storageClassName", "the annotation volume.beta.kubernetes.io/storage-class means the same"},
	},
	"persistentvolumes": {
		{".spec.storageClassName", "the annotation volume.beta.kubernetes.io/storage-class means the same"},
	},
	"controllerrevisions.apps": {{".data", "it has objects of any kind"}},
}

// aliases has, for built-in resources, fields that are set because of other fields by storage or by a
// conversion, and the paths of these other fields.
var aliases = map[string]map[string][]string{
	"services": {
		".spec.clusterIP":           {".spec.clusterIPs", ".spec.type"},
		".spec.clusterIPs":          {".spec.clusterIP", ".spec.type"},
		".spec.ipFamilies":          {".spec.clusterIPs", ".spec.clusterIP", ".spec.ipFamilyPolicy", ".spec.type"},
		".spec.ipFamilyPolicy":      {".spec.clusterIPs", ".spec.clusterIP", ".spec.ipFamilies", ".spec.type"},
		".spec.ports[*].nodePort":   {".spec.type", ".spec.allocateLoadBalancerNodePorts"},
		".spec.healthCheckNodePort": {".spec.type", ".spec.externalTrafficPolicy"},
	},
	"persistentvolumeclaims": {
		".spec.dataSource":    {".spec.dataSourceRef"},
		".spec.dataSourceRef": {".spec.dataSource"},
	},
}
