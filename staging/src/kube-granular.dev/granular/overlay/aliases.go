// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

// closedPath is a field that takes no exclusion.
type closedPath struct {
	path, reason string
	// inner is true if a field around it takes one all the same: what else sets the field can do less than the field.
	inner bool
}

// closedPaths has the fields of built-in resources that take no exclusion although the effects of
// the server's own code do not show why.
var closedPaths = map[string][]closedPath{
	"pods": {
		{path: ".spec.nodeName", reason: "a binding sets the node of a pod"},
		{path: ".spec.securityContext.appArmorProfile", reason: "an annotation sets the AppArmor profile too"},
		{path: ".spec.containers[*].securityContext.appArmorProfile", reason: "an annotation sets the AppArmor profile too"},
		{path: ".spec.initContainers[*].securityContext.appArmorProfile", reason: "an annotation sets the AppArmor profile too"},
		{path: ".spec.tolerations", reason: "admission adds tolerations"},
		{path: ".spec.priority", reason: "admission sets it by the priority class"},
		{path: ".spec.preemptionPolicy", reason: "admission sets it by the priority class"},
		{path: ".spec.overhead", reason: "admission sets it by the runtime class"},
		{path: ".spec.nodeSelector", reason: "admission adds the node selector of the runtime class"},
	},
	"nodes": {{path: ".spec", reason: "kubelets and cloud providers write it when a node registers"}},
	"ingresses.networking.k8s.io": {
		{path: ".spec.ingressClassName", reason: "the annotation kubernetes.io/ingress.class means the same"},
	},
	"persistentvolumeclaims": {
		{path: ".spec.storageClassName", reason: "the annotation volume.beta.kubernetes.io/storage-class means the same"},
	},
	"persistentvolumes": {
		{path: ".spec.storageClassName", reason: "the annotation volume.beta.kubernetes.io/storage-class means the same"},
		{path: ".spec.mountOptions", reason: "the annotation volume.beta.kubernetes.io/mount-options counts first"},
	},
	"services": {
		{".spec.trafficDistribution", "the annotation service.kubernetes.io/topology-mode counts first", true},
		{".spec.loadBalancerSourceRanges", "the annotation service.beta.kubernetes.io/load-balancer-source-ranges means the same", true},
	},
	"controllerrevisions.apps": {{path: ".data", reason: "it has objects of any kind"}},
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
