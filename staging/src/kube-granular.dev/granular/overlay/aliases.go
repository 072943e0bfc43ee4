// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// closedPath is a field that takes no exclusion.
type closedPath struct {
	path, reason string
	// inner is true if a field around it takes one all the same: what else sets the field can do less than the field.
	inner bool
	// template is true if the same holds in a pod template.
	template bool
	// holder is the path of an inner object that also contains what else sets the field. Who closes the holder closes both.
	holder string
}

const (
	appArmor     = "an annotation sets the AppArmor profile too"
	storageClass = "the annotation volume.beta.kubernetes.io/storage-class means the same"
	suggested    = "the annotation apf.kubernetes.io/autoupdate-spec has the server set it"
	mounted      = "admission mounts a volume whose name begins with kube-api-access- in each container"
	portworx     = "annotations of openstorage.io name the Secrets of a Portworx volume"
)

// closedPaths has the fields of built-in resources that take no exclusion although the effects of
// the server's own code do not show why.
var closedPaths = map[string][]closedPath{
	"pods": {
		{path: ".spec.nodeName", reason: "a binding sets the node of a pod"},
		{path: ".spec.securityContext.appArmorProfile", reason: appArmor, template: true},
		{path: ".spec.containers[*].securityContext.appArmorProfile", reason: appArmor, template: true},
		{path: ".spec.initContainers[*].securityContext.appArmorProfile", reason: appArmor, template: true},
		{path: ".spec.securityContext.supplementalGroups", reason: "the annotation pv.beta.kubernetes.io/gid of a volume adds groups", inner: true},
		{path: ".spec.volumes[*].ephemeral.volumeClaimTemplate.spec.storageClassName", reason: storageClass, template: true,
			holder: ".spec.volumes[*].ephemeral.volumeClaimTemplate"},
		{path: ".spec.imagePullSecrets", reason: "admission sets it by the service account", template: true},
		{path: ".spec.tolerations", reason: "admission adds tolerations", template: true},
		{path: ".spec.priority", reason: "admission sets it by the priority class", template: true},
		{path: ".spec.preemptionPolicy", reason: "admission sets it by the priority class", template: true},
		{path: ".spec.overhead", reason: "admission sets it by the runtime class", template: true},
		{path: ".spec.nodeSelector", reason: "admission adds the node selectors of the runtime class and of the namespace", template: true},
		{path: ".spec.containers[*].volumeMounts", reason: mounted, inner: true, template: true},
		{path: ".spec.initContainers[*].volumeMounts", reason: mounted, inner: true, template: true},
	},
	"nodes": {{path: ".spec", reason: "kubelets and cloud providers write it when a node registers"}},
	"flowschemas.flowcontrol.apiserver.k8s.io":                 {{path: ".spec", reason: suggested}},
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {{path: ".spec", reason: suggested}},
	"ingresses.networking.k8s.io": {
		{path: ".spec.ingressClassName", reason: "the annotation kubernetes.io/ingress.class means the same"},
	},
	"persistentvolumeclaims": {{path: ".spec.storageClassName", reason: storageClass}},
	"statefulsets.apps": {
		{path: ".spec.volumeClaimTemplates[*].spec.storageClassName", reason: storageClass, holder: ".spec.volumeClaimTemplates[*]"},
	},
	"persistentvolumes": {
		{path: ".spec.storageClassName", reason: storageClass},
		{path: ".spec.mountOptions", reason: "the annotation volume.beta.kubernetes.io/mount-options counts first"},
		{path: ".spec.nodeAffinity", reason: "the label topology.kubernetes.io/zone counts if there is none", inner: true},
		{path: ".spec.azureFile", reason: "the annotation kubernetes.io/azure-file-resource-group tells where the share is", inner: true},
		{path: ".spec.gcePersistentDisk", reason: "the label topology.kubernetes.io/zone tells where the disk is", inner: true},
		{path: ".spec.csi.controllerExpandSecretRef", reason: portworx, inner: true},
		{path: ".spec.csi.controllerPublishSecretRef", reason: portworx, inner: true},
		{path: ".spec.csi.nodeExpandSecretRef", reason: portworx, inner: true},
		{path: ".spec.csi.nodePublishSecretRef", reason: portworx, inner: true},
		{path: ".spec.csi.nodeStageSecretRef", reason: portworx, inner: true},
	},
	"services": {
		{path: ".spec.trafficDistribution", reason: "the annotation service.kubernetes.io/topology-mode counts first", inner: true},
		{path: ".spec.loadBalancerSourceRanges", inner: true,
			reason: "the annotation service.beta.kubernetes.io/load-balancer-source-ranges means the same"},
	},
	"controllerrevisions.apps": {{path: ".data", reason: "it has objects of any kind"}},
}

// closedIn returns the closedPaths of a resource, also those in its pod template.
func closedIn(resource gvkschema.GroupResource) []closedPath {
	out := slices.Clone(closedPaths[resource.String()])
	template, ok := templates[resource]
	if !ok {
		return out
	}
	for _, closed := range closedPaths["pods"] {
		if closed.template {
			closed.path, closed.holder = template.String()+closed.path, template.String()+closed.holder
			out = append(out, closed)
		}
	}
	return out
}

// takes reports whether a field may be excluded all the same.
func (c closedPath) takes(path Path) bool {
	closed := tablePath(c.path)
	return !overlap(closed, path) || c.inner && !path.inside(closed) || c.holder != "" && tablePath(c.holder).inside(path)
}

// aliases has, for built-in resources, fields that are set because of other fields by storage or by a
// conversion, and the paths of these other fields.
var aliases = map[string]map[string][]string{
	"services": {
		".spec.clusterIP":           {".spec.clusterIPs", ".spec.type"},
		".spec.clusterIPs":          {".spec.clusterIP", ".spec.ipFamilies", ".spec.ipFamilyPolicy", ".spec.type"},
		".spec.ipFamilies":          {".spec.clusterIPs", ".spec.clusterIP", ".spec.ipFamilyPolicy", ".spec.type"},
		".spec.ipFamilyPolicy":      {".spec.clusterIPs", ".spec.clusterIP", ".spec.ipFamilies", ".spec.type"},
		".spec.ports[*].nodePort":   {".spec.ports", ".spec.type", ".spec.allocateLoadBalancerNodePorts"},
		".spec.healthCheckNodePort": {".spec.type", ".spec.externalTrafficPolicy"},
	},
	"persistentvolumeclaims": {
		".spec.dataSource":    {".spec.dataSourceRef"},
		".spec.dataSourceRef": {".spec.dataSource"},
	},
}
