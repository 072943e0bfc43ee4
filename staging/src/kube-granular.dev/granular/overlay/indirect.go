// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"slices"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
)

// Indirect is a controller that writes a field of a built-in kind for those who may write other
// fields. An exclusion of the field stops the clients, and does not stop the controller.
type Indirect struct {
	// Resource and Path are the field that is written, and By is the controller.
	Resource, Path string
	By             string
	// AddOn is set if By is no controller of Kubernetes itself, so that it does not run in each cluster
	// and holds no bypass.
	AddOn bool
	// Template is set if Source contains a whole specification of the kind, from which By makes objects.
	Template bool
	// Labels is set if By also chooses by the labels of the written object, as one that takes over or lets go objects does.
	Labels bool
	// Source and SourcePaths are the fields from which the controller takes the value.
	Source      string
	SourcePaths []string
}

// Sources names the fields from which the controller takes the value.
func (w Indirect) Sources() string {
	out := strings.Join(w.SourcePaths, " or ") + " of " + w.Source
	if w.Labels {
		out += " or labels of " + w.Resource
	}
	return out
}

// IndirectWriters returns who writes fields of built-in kinds for others, in order. Pod templates are left
// out, because entries of pods hold in them. TestIndirectWriters of package exclusions compares the
// templates with the kinds that a server serves. No schema says which other fields a controller copies.
func IndirectWriters() []Indirect { return slices.Clone(indirect) }

// WrittenFor returns the controllers that write a field of a resource, or a field inside it or around it,
// for others.
func WrittenFor(resource gvkschema.GroupResource, path Path) (out []Indirect) {
	for i := range indirect {
		if written := tablePath(indirect[i].Path); indirect[i].Resource == resource.String() && overlap(path, written) {
			out = append(out, indirect[i])
		}
	}
	return out
}

const (
	owners      = ".metadata.ownerReferences"
	replicas    = ".spec.replicas"
	autoscalers = "horizontalpodautoscalers.autoscaling"
)

var (
	bounds = []string{".spec.minReplicas", ".spec.maxReplicas"}
	// selector chooses the objects without an owner that a controller takes over.
	selector = []string{".spec.selector"}
)

var indirect = []Indirect{
	{Resource: "configmaps", Path: ".data", By: "bootstrap-signer-controller", Source: "secrets", SourcePaths: []string{".data"}},
	{Resource: "controllerrevisions.apps", Path: owners, By: "daemonset-controller", Labels: true,
		Source: "daemonsets.apps", SourcePaths: selector},
	{Resource: "controllerrevisions.apps", Path: owners, By: "statefulset-controller", Labels: true,
		Source: "statefulsets.apps", SourcePaths: selector},
	{Resource: "deployments.apps", Path: replicas, By: "horizontal-pod-autoscaler", Source: autoscalers, SourcePaths: bounds},
	{Resource: "ipaddresses.networking.k8s.io", Path: ".spec.parentRef", By: "kube-apiserver",
		Source: "services", SourcePaths: []string{".spec.clusterIP", ".spec.clusterIPs"}},
	{Resource: "jobs.batch", Path: ".spec", By: "cronjob-controller", Template: true,
		Source: "cronjobs.batch", SourcePaths: []string{".spec.jobTemplate.spec"}},
	{Resource: "persistentvolumeclaims", Path: ".spec", By: "ephemeral-volume-controller", Template: true,
		Source: "pods", SourcePaths: []string{".spec.volumes[*].ephemeral.volumeClaimTemplate.spec"}},
	{Resource: "persistentvolumeclaims", Path: ".spec", By: "statefulset-controller", Template: true,
		Source: "statefulsets.apps", SourcePaths: []string{".spec.volumeClaimTemplates[*].spec"}},
	// The template is a whole claim, whose metadata the controller copies.
	{Resource: "persistentvolumeclaims", Path: ".metadata.finalizers", By: "statefulset-controller",
		Source: "statefulsets.apps", SourcePaths: []string{".spec.volumeClaimTemplates"}},
	{Resource: "persistentvolumeclaims", Path: owners, By: "statefulset-controller",
		Source: "statefulsets.apps", SourcePaths: []string{".spec.volumeClaimTemplates", ".spec.persistentVolumeClaimRetentionPolicy"}},
	// The volume is also chosen by its class, size and modes, and by the labels that the claim selects.
	{Resource: "persistentvolumeclaims", Path: ".spec.volumeName", By: "persistent-volume-binder",
		Source: "persistentvolumes", SourcePaths: []string{".spec", ".metadata.labels"}},
	{Resource: "persistentvolumeclaims", Path: ".spec.volumeName", By: "persistent-volume-binder",
		Source: "persistentvolumeclaims", SourcePaths: []string{".spec", ".metadata.annotations"}},
	{Resource: "persistentvolumes", Path: ".spec.capacity", By: "external-resizer", AddOn: true,
		Source: "persistentvolumeclaims", SourcePaths: []string{".spec.resources.requests"}},
	{Resource: "persistentvolumes", Path: ".metadata.finalizers", By: "persistent-volume-binder",
		Source: "persistentvolumes", SourcePaths: []string{".spec", ".metadata.annotations"}},
	{Resource: "persistentvolumes", Path: ".spec.capacity", By: "expand-controller",
		Source: "persistentvolumeclaims", SourcePaths: []string{".spec.resources.requests"}},
	{Resource: "persistentvolumes", Path: ".spec.claimRef", By: "persistent-volume-binder",
		Source: "persistentvolumeclaims", SourcePaths: []string{".spec", ".metadata.annotations"}},
	// A volume that is recycled loses its claim, and one whose claim the binder chose does, too.
	{Resource: "persistentvolumes", Path: ".spec.claimRef", By: "persistent-volume-binder",
		Source: "persistentvolumes", SourcePaths: []string{".spec", ".metadata.labels", ".metadata.annotations"}},
	{Resource: "persistentvolumes", Path: ".spec.claimRef", By: "kube-scheduler", Source: "pods", SourcePaths: []string{".spec"}},
	{Resource: "pods", Path: ".spec.automountServiceAccountToken", By: "admission plugin ServiceAccount",
		Source: "serviceaccounts", SourcePaths: []string{".automountServiceAccountToken"}},
	{Resource: "pods", Path: ".spec.volumes[*].projected", By: "admission plugin ServiceAccount",
		Source: "pods", SourcePaths: []string{".spec.automountServiceAccountToken"}},
	{Resource: "pods", Path: ".spec.volumes[*].projected", By: "admission plugin ServiceAccount",
		Source: "serviceaccounts", SourcePaths: []string{".automountServiceAccountToken"}},
	{Resource: "pods", Path: ".metadata.finalizers", By: "job-controller", Labels: true, Source: "jobs.batch", SourcePaths: selector},
	{Resource: "pods", Path: owners, By: "daemonset-controller", Labels: true, Source: "daemonsets.apps", SourcePaths: selector},
	{Resource: "pods", Path: owners, By: "job-controller", Labels: true, Source: "jobs.batch", SourcePaths: selector},
	{Resource: "pods", Path: owners, By: "replicaset-controller", Labels: true, Source: "replicasets.apps", SourcePaths: selector},
	{Resource: "pods", Path: owners, By: "replication-controller", Labels: true, Source: "replicationcontrollers", SourcePaths: selector},
	{Resource: "pods", Path: owners, By: "statefulset-controller", Labels: true, Source: "statefulsets.apps", SourcePaths: selector},
	{Resource: "pods", Path: ".spec.containers[*].resources", By: "vertical-pod-autoscaler", AddOn: true,
		Source: "verticalpodautoscalers.autoscaling.k8s.io", SourcePaths: []string{".spec.resourcePolicy"}},
	{Resource: "pods", Path: ".spec.containers[*].resources", By: "admission plugin LimitRanger",
		Source: "limitranges", SourcePaths: []string{".spec.limits"}},
	{Resource: "pods", Path: ".spec.initContainers[*].resources", By: "admission plugin LimitRanger",
		Source: "limitranges", SourcePaths: []string{".spec.limits"}},
	{Resource: "pods", Path: ".spec.hostname", By: "job-controller",
		Source: "jobs.batch", SourcePaths: []string{".spec.completionMode", ".metadata.name"}},
	{Resource: "pods", Path: ".spec.hostname", By: "statefulset-controller",
		Source: "statefulsets.apps", SourcePaths: []string{".metadata.name"}},
	{Resource: "pods", Path: ".spec.priorityClassName", By: "admission plugin Priority",
		Source: "priorityclasses.scheduling.k8s.io", SourcePaths: []string{".globalDefault"}},
	{Resource: "pods", Path: ".spec.schedulingGroup", By: "job-controller",
		Source: "jobs.batch", SourcePaths: []string{".metadata.annotations"}},
	{Resource: "pods", Path: ".spec.subdomain", By: "statefulset-controller",
		Source: "statefulsets.apps", SourcePaths: []string{".spec.serviceName"}},
	// A claim of the name that the controller makes is used, also if it is somebody else's.
	{Resource: "pods", Path: ".spec.volumes", By: "statefulset-controller",
		Source: "statefulsets.apps", SourcePaths: []string{".spec.volumeClaimTemplates"}},
	{Resource: "replicasets.apps", Path: owners, By: "deployment-controller", Labels: true,
		Source: "deployments.apps", SourcePaths: selector},
	{Resource: "replicasets.apps", Path: ".spec.minReadySeconds", By: "deployment-controller",
		Source: "deployments.apps", SourcePaths: []string{".spec.minReadySeconds"}},
	{Resource: "replicasets.apps", Path: replicas, By: "deployment-controller",
		Source: "deployments.apps", SourcePaths: []string{replicas, ".spec.selector"}},
	// One that a deployment takes over is an old one, whose pods go. Annotations tell how many pods of all are its own.
	{Resource: "replicasets.apps", Path: replicas, By: "deployment-controller",
		Source: "replicasets.apps", SourcePaths: []string{".metadata.labels", ".metadata.annotations"}},
	{Resource: "replicasets.apps", Path: ".spec.template", By: "deployment-controller",
		Source: "deployments.apps", SourcePaths: []string{".spec.template"}},
	{Resource: "replicasets.apps", Path: replicas, By: "horizontal-pod-autoscaler", Source: autoscalers, SourcePaths: bounds},
	{Resource: "replicationcontrollers", Path: replicas, By: "horizontal-pod-autoscaler", Source: autoscalers, SourcePaths: bounds},
	// It makes claims for containers that name a resource of a device class.
	{Resource: "resourceclaims.resource.k8s.io", Path: ".spec", By: "kube-scheduler",
		Source: "pods", SourcePaths: []string{".spec.containers[*].resources", ".spec.initContainers[*].resources"}},
	{Resource: "resourceclaims.resource.k8s.io", Path: ".spec", By: "resourceclaim-controller", Template: true,
		Source: "resourceclaimtemplates.resource.k8s.io", SourcePaths: []string{".spec.spec"}},
	{Resource: "secrets", Path: ".data", By: "serviceaccount-token-controller",
		Source: "secrets", SourcePaths: []string{".type", ".metadata.annotations"}},
	{Resource: "serviceaccounts", Path: ".secrets", By: "serviceaccount-token-controller",
		Source: "secrets", SourcePaths: []string{".type", ".metadata.annotations"}},
	{Resource: "statefulsets.apps", Path: replicas, By: "horizontal-pod-autoscaler", Source: autoscalers, SourcePaths: bounds},
	{Resource: "volumeattachments.storage.k8s.io", Path: ".spec", By: "attachdetach-controller",
		Source: "pods", SourcePaths: []string{".spec.volumes"}},
}
