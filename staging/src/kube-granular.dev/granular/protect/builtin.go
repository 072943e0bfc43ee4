// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import "kube-granular.dev/granular/schema"

var (
	pods            = Resource{"", "pods"}
	claims          = Resource{"", "persistentvolumeclaims"}
	endpoints       = Resource{"", "endpoints"}
	endpointSlices  = Resource{"discovery.k8s.io", "endpointslices"}
	deployments     = Resource{"apps", "deployments"}
	replicaSets     = Resource{"apps", "replicasets"}
	statefulSets    = Resource{"apps", "statefulsets"}
	daemonSets      = Resource{"apps", "daemonsets"}
	revisions       = Resource{"apps", "controllerrevisions"}
	jobs            = Resource{"batch", "jobs"}
	cronJobs        = Resource{"batch", "cronjobs"}
	controllers     = Resource{"", "replicationcontrollers"}
	podTemplates    = Resource{"", "podtemplates"}
	services        = Resource{"", "services"}
	nodes           = Resource{"", "nodes"}
	resourceClaims  = Resource{"resource.k8s.io", "resourceclaims"}
	claimTemplates  = Resource{"resource.k8s.io", "resourceclaimtemplates"}
	labelsAndOthers = schema.Label | schema.Annotation
)

// Builtin returns the table of built-in kinds: which labels and annotations upstream's controllers
// copy from one object to another.
func Builtin() *Table {
	targets := func(r ...Resource) []Resource { return r }
	table := NewTable(
		Source{From: podTemplates, Scope: "podTemplate", Kinds: labelsAndOthers, To: targets(pods)},
		Source{From: controllers, Scope: "podTemplate", Kinds: labelsAndOthers, To: targets(pods)},
		Source{From: jobs, Scope: "podTemplate", Kinds: labelsAndOthers, To: targets(pods)},

		// A rollback copies the annotations of a replica set back into its deployment.
		Source{From: replicaSets, Scope: "podTemplate", Kinds: labelsAndOthers, To: targets(pods)},
		Source{From: replicaSets, Kinds: schema.Annotation, To: targets(deployments)},

		// A new replica set has the labels of the template and the deployment's annotations.
		Source{From: deployments, Scope: "podTemplate", Kinds: schema.Label, To: targets(pods, replicaSets)},
		Source{From: deployments, Scope: "podTemplate", Kinds: schema.Annotation, To: targets(pods)},
		Source{From: deployments, Kinds: schema.Annotation, To: targets(replicaSets)},

		// A new revision has the labels of the template and its owner's annotations.
		Source{From: daemonSets, Scope: "podTemplate", Kinds: schema.Label, To: targets(pods, revisions)},
		Source{From: daemonSets, Scope: "podTemplate", Kinds: schema.Annotation, To: targets(pods)},
		Source{From: daemonSets, Kinds: schema.Annotation, To: targets(revisions)},

		// The labels of a stateful set's selector are copied to its claims. The labels of the pod
		// template always include those of the selector, so the template's labels count as copied.
		Source{From: statefulSets, Scope: "podTemplate", Kinds: schema.Label, To: targets(pods, revisions, claims)},
		Source{From: statefulSets, Scope: "podTemplate", Kinds: schema.Annotation, To: targets(pods)},
		Source{From: statefulSets, Kinds: schema.Annotation, To: targets(revisions)},

		// A job without labels gets those of its pod template.
		Source{From: cronJobs, Scope: "jobTemplate", Kinds: labelsAndOthers, To: targets(jobs)},
		Source{From: cronJobs, Scope: "podTemplate", Kinds: schema.Label, To: targets(pods, jobs)},
		Source{From: cronJobs, Scope: "podTemplate", Kinds: schema.Annotation, To: targets(pods)},

		Source{From: claimTemplates, Scope: "resourceClaimTemplate", Kinds: labelsAndOthers, To: targets(resourceClaims)},
		Source{From: services, Kinds: schema.Label, To: targets(endpoints, endpointSlices)},
		Source{From: endpoints, Kinds: labelsAndOthers, To: targets(endpointSlices)},
		// The admission plugin PodTopologyLabels copies these labels when a pod is bound to a
		// node.
		Source{From: nodes, Kinds: schema.Label, To: targets(pods),
			Keys: []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}},
	)
	for _, resource := range []Resource{pods, podTemplates, controllers, jobs, replicaSets, deployments, daemonSets, statefulSets, cronJobs} {
		table = table.With(Source{From: resource, Scope: "volumeClaimTemplate", Kinds: labelsAndOthers, To: targets(claims)})
	}
	return table
}

// Copiers returns the service accounts of upstream's controllers that write labels or annotations which somebody
// else chose, such as those of a template. They are in the namespace kube-system. docs/protected-attributes.md explains
// what each of them copies, and why other controllers are not listed.
func Copiers() []string {
	return []string{
		"cronjob-controller",
		"daemon-set-controller",
		"deployment-controller",
		"endpoint-controller",
		"endpointslice-controller",
		"endpointslicemirroring-controller",
		"ephemeral-volume-controller",
		"job-controller",
		"replicaset-controller",
		"replication-controller",
		"resource-claim-controller",
		"statefulset-controller",
	}
}
