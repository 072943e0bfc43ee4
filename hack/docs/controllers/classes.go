// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// class is the reason why a controller has a permission. The texts are in classReasons.
type class string

const (
	perObject    class = "per object"
	reads        class = "reads"
	own          class = "own records"
	gatekeeping  class = "gatekeeping"
	housekeeping class = "housekeeping"
)

// classReasons are the explanations of the classes, in the order of the page.
var classReasons = []struct {
	class    class
	grant    string
	because  string
	reasoned string
}{
	{perObject, "**could be granted per object**", "somebody asked for it by writing another object", "A policy could delegate the right when somebody writes that object. The controller then acts with the rights of the author, and is refused whenever the author would be. The last column of the tables below names the smallest of the roles view, edit and admin that has the right: an author with that role can delegate the right. None of these roles has `*.*/scale`; edit has the scale of built-in kinds."},
	{reads, "stays", "a controller lists and watches everything before there is an object to act for", "One watch serves all objects, so it can't use the authority of each author. A controller reads more than the author may see. It must not reveal that in what it writes; a delegation limits what it writes."},
	{own, "stays", "what the controller says about the object it works on", "Statuses, finalizers, revisions and events grant nobody anything. A controller must be able to write them when a delegation is gone, because it reports that there. If the right is for the whole object, [permission verbs](../permissions.md) can restrict it to the fields that the controller writes."},
	{gatekeeping, "stays", "the controller does for people what they may not do themselves", "The purpose of such a controller is to act for others: it checks a request, and then writes what the author of the request may not write freely. An author could delegate the right only after getting it."},
	{housekeeping, "stays", "nobody asks for it", "A node fails, a time passes, or an owner is gone. There is no request whose author could delegate, or the author has already left the cluster."},
}

// classification is the class of some permissions of a role. resource has the format of
// right.resourceName, such as pods/status. verbs are separated by spaces.
type classification struct {
	resource, verbs string
	class           class
	// trigger is the resource that a user writes to make the controller act.
	trigger string
}

// classifications are the classes of permissions, by the name of the controller. classByRule
// classifies only the permissions that are not in this list.
var classifications = map[string][]classification{
	"attachdetach-controller": {
		{"nodes/status", "patch update", housekeeping, ""},
		{"volumeattachments.storage.k8s.io", "create delete", gatekeeping, ""},
	},
	"certificate-controller": {
		{"certificatesigningrequests.certificates.k8s.io", "delete", housekeeping, ""},
		{"certificatesigningrequests.certificates.k8s.io/approval", "update", gatekeeping, ""},
		{"signers.certificates.k8s.io *", "approve sign", gatekeeping, ""},
		{"subjectaccessreviews.authorization.k8s.io", "create", reads, ""},
	},
	"clusterrole-aggregation-controller": {
		{"clusterroles.rbac.authorization.k8s.io", "escalate patch update", gatekeeping, ""},
	},
	"cronjob-controller": {
		{"cronjobs.batch", "update", own, ""},
		{"jobs.batch", "create delete patch update", perObject, "cronjobs.batch"},
		{"pods", "delete", perObject, "cronjobs.batch"},
	},
	"daemon-set-controller": {
		{"controllerrevisions.apps", "create delete patch update", own, ""},
		{"pods", "create delete patch", perObject, "daemonsets.apps"},
		{"pods/binding", "create", gatekeeping, ""},
	},
	"deployment-controller": {
		{"deployments.apps", "update", own, ""},
		{"pods", "update", perObject, "deployments.apps"},
		{"replicasets.apps", "create delete patch update", perObject, "deployments.apps"},
	},
	"device-taint-eviction-controller": {
		{"pods", "delete", housekeeping, ""},
		{"pods/status", "patch update", housekeeping, ""},
	},
	"disruption-controller": {
		{"pods/status", "patch update", housekeeping, ""},
	},
	"endpoint-controller": {
		{"endpoints", "create delete update", gatekeeping, ""},
		{"endpoints/restricted", "create", gatekeeping, ""},
	},
	"endpointslice-controller": {
		{"endpointslices.discovery.k8s.io", "create delete update", gatekeeping, ""},
	},
	"endpointslicemirroring-controller": {
		{"endpointslices.discovery.k8s.io", "create delete update", gatekeeping, ""},
	},
	"ephemeral-volume-controller": {
		{"persistentvolumeclaims", "create", perObject, "pods"},
	},
	"expand-controller": {
		{"persistentvolumes", "patch update", gatekeeping, ""},
	},
	"generic-garbage-collector": {
		{"*.*", "delete patch update", housekeeping, ""},
	},
	"horizontal-pod-autoscaler": {
		{"*.*/scale", "update", perObject, "horizontalpodautoscalers.autoscaling"},
	},
	"job-controller": {
		{"jobs.batch", "patch update", own, ""},
		{"pods", "create delete patch", perObject, "jobs.batch"},
		{"podgroups.scheduling.k8s.io", "create patch update", perObject, "jobs.batch"},
		{"workloads.scheduling.k8s.io", "create patch update", perObject, "jobs.batch"},
	},
	"kube-apiserver-serving-clustertrustbundle-publisher": {
		{"clustertrustbundles.certificates.k8s.io", "create delete update", housekeeping, ""},
		{"signers.certificates.k8s.io *", "attest", housekeeping, ""},
	},
	"legacy-service-account-token-cleaner": {
		{"secrets", "delete patch", housekeeping, ""},
	},
	"namespace-controller": {
		{"*.*", "delete deletecollection", housekeeping, ""},
		{"namespaces", "delete", housekeeping, ""},
		{"namespaces/finalize", "update", own, ""},
	},
	"node-controller": {
		{"nodes", "delete patch update", housekeeping, ""},
		{"nodes/status", "patch update", housekeeping, ""},
		{"pods", "delete", housekeeping, ""},
		{"pods/status", "patch update", housekeeping, ""},
	},
	"persistent-volume-binder": {
		{"persistentvolumeclaims", "update", own, ""},
		{"persistentvolumes", "create delete update", gatekeeping, ""},
		{"persistentvolumes/status", "update", gatekeeping, ""},
		{"pods", "create delete", housekeeping, ""},
	},
	"pod-garbage-collector": {
		{"pods", "delete", housekeeping, ""},
		{"pods/status", "patch", housekeeping, ""},
	},
	"podcertificaterequestcleaner": {
		{"podcertificaterequests.certificates.k8s.io", "delete", housekeeping, ""},
	},
	"podgroup-protection-controller": {
		{"podgroups.scheduling.k8s.io", "update", own, ""},
	},
	"pv-protection-controller": {
		{"persistentvolumes", "update", own, ""},
	},
	"pvc-protection-controller": {
		{"persistentvolumeclaims", "update", own, ""},
	},
	"replicaset-controller": {
		{"pods", "create delete patch", perObject, "replicasets.apps"},
		{"replicasets.apps", "update", own, ""},
	},
	"replication-controller": {
		{"pods", "create delete patch", perObject, "replicationcontrollers"},
		{"replicationcontrollers", "update", own, ""},
	},
	"resource-claim-controller": {
		{"podgroups.scheduling.k8s.io/status", "patch update", own, ""},
		{"pods/status", "patch update", own, ""},
		{"resourceclaims.resource.k8s.io", "create delete", perObject, "pods"},
		{"resourceclaims.resource.k8s.io", "patch update", own, ""},
		{"resourceclaims.resource.k8s.io/binding", "patch update", gatekeeping, ""},
	},
	"resourcepoolstatusrequest-controller": {
		{"resourcepoolstatusrequests.resource.k8s.io", "delete", housekeeping, ""},
	},
	"root-ca-cert-publisher": {
		{"configmaps", "create update", housekeeping, ""},
	},
	"route-controller": {
		{"nodes/status", "patch", housekeeping, ""},
	},
	"service-account-controller": {
		{"serviceaccounts", "create", housekeeping, ""},
	},
	"service-cidrs-controller": {
		{"servicecidrs.networking.k8s.io", "patch update", own, ""},
	},
	"statefulset-controller": {
		{"controllerrevisions.apps", "create delete patch update", own, ""},
		{"persistentvolumeclaims", "create delete update", perObject, "statefulsets.apps"},
		{"pods", "create delete patch update", perObject, "statefulsets.apps"},
	},
	"storage-version-garbage-collector": {
		{"storageversions.internal.apiserver.k8s.io", "delete patch update", housekeeping, ""},
	},
	"storage-version-migrator-controller": {
		{"*.*", "patch", housekeeping, ""},
		{"customresourcedefinitions.apiextensions.k8s.io/status", "patch", housekeeping, ""},
	},
	"ttl-after-finished-controller": {
		{"jobs.batch", "delete", perObject, "jobs.batch"},
	},
	"ttl-controller": {
		{"nodes", "patch update", housekeeping, ""},
	},
	"volumeattributesclass-protection-controller": {
		{"volumeattributesclasses.storage.k8s.io", "update", own, ""},
	},
}

// classifiedRight is a permission of a role with its class.
type classifiedRight struct {
	right
	classification
}

func (l classification) matches(r right) bool {
	name, any := strings.CutSuffix(l.resource, " *")
	resource := r.resourceName()
	if any {
		resource, _, _ = strings.Cut(resource, " ")
	}
	return resource == name && slices.Contains(strings.Fields(l.verbs), r.verb)
}

// classify returns the permissions of a role with their classes. The list classifications takes
// precedence over the general rules of classByRule. For each verb of an entry of the list that
// matches a permission, classify adds a key to used, so that checkUnused finds the entries that
// match none.
func classify(role *rbacv1.ClusterRole, used map[string]bool) ([]classifiedRight, error) {
	name := strings.TrimPrefix(role.Name, prefix)
	var out []classifiedRight
	for _, r := range rightsOf(role.Rules) {
		found := false
		for _, l := range classifications[name] {
			if l.matches(r) {
				if found {
					return nil, fmt.Errorf("%s: %s on %s has two classes", name, r.verb, r.resourceName())
				}
				found = true
				out = append(out, classifiedRight{r, l})
				for _, verb := range strings.Fields(l.verbs) {
					if verb == r.verb {
						used[name+" "+l.resource+" "+verb] = true
					}
				}
			}
		}
		if found {
			continue
		}
		c, ok := classByRule(r, role)
		if !ok {
			return nil, fmt.Errorf("%s: %s on %s has no class: add it to the list in hack/docs/controllers", name, r.verb, r.resourceName())
		}
		out = append(out, classifiedRight{r, classification{class: c}})
	}
	return out, nil
}

// classByRule classifies the permissions whose class is the same for each controller: reads,
// events, finalizers, and the statuses of all resources except pods and nodes. It returns false
// for any other permission.
func classByRule(r right, role *rbacv1.ClusterRole) (class, bool) {
	switch r.verb {
	case "get", "list", "watch":
		return reads, true
	}
	resource, subresource, _ := strings.Cut(r.resource, "/")
	switch {
	case r.resource == "events":
		return own, true
	case (subresource == "status" || subresource == "finalizers") && resource != "pods" && resource != "nodes":
		return own, true
	case subresource == "finalizers":
		return own, true
	}
	return "", false
}

// checkUnused returns an error if a verb of an entry of the list classifications matches no
// permission.
func checkUnused(used map[string]bool) error {
	for name, lines := range classifications {
		for _, l := range lines {
			for _, verb := range strings.Fields(l.verbs) {
				if key := name + " " + l.resource + " " + verb; !used[key] {
					return fmt.Errorf("the list in hack/docs/controllers has %s, but no role has that permission", key)
				}
			}
		}
	}
	return nil
}
