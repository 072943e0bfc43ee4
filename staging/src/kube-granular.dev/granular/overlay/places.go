// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"strings"
	"sync"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/registry"
)

// noExclusions has the resources that take no exclusions, with the reasons. The key is a resource,
// or "*" and a group.
var noExclusions = map[string]string{
	"leases.coordination.k8s.io":                     "leader election and the health of nodes depend on leases",
	"events":                                         "every component reports events",
	"events.events.k8s.io":                           "every component reports events",
	"endpoints":                                      "the network depends on endpoints",
	"endpointslices.discovery.k8s.io":                "the network depends on endpoint slices",
	"leasecandidates.coordination.k8s.io":            "leader election depends on them",
	"csinodes.storage.k8s.io":                        "kubelets create them with an owner",
	"resourceslices.resource.k8s.io":                 "nodes publish their devices",
	"podcertificaterequests.certificates.k8s.io":     "kubelets create them",
	"namespaces":                                     "the deletion of namespaces depends on their finalizers",
	"certificatesigningrequests.certificates.k8s.io": "nodes join by certificate signing requests",
	"bindings":                                       "a binding is not stored",
	"componentstatuses":                              "a component status is not stored",
	"*.authentication.k8s.io":                        "reviews are not stored",
	"*.authorization.k8s.io":                         "reviews are not stored",
	"*.authority.kube-granular.dev":                  "nobody could change the exclusion back",
	"*.rbac.authorization.k8s.io":                    "nobody could grant the permission",
	"*.admissionregistration.k8s.io":                 "nobody could repair admission",
	"*.apiextensions.k8s.io":                         "the server writes definitions itself",
	"*.apiregistration.k8s.io":                       "the server writes registrations itself",
	"*.internal.apiserver.k8s.io":                    "servers depend on it",
}

// builtin are API groups of Kubernetes that a server may serve and the registry lacks.
var builtin = map[string]bool{
	"internal.apiserver.k8s.io": true, "storagemigration.k8s.io": true, "resource.k8s.io": true, "imagepolicy.k8s.io": true,
	"apiserver.config.k8s.io": true, "authority.kube-granular.dev": true,
}

// TakesExclusions reports whether fields of a resource can be excluded. The server must be able to
// write the resources of which none can be before it has read any entries.
func TakesExclusions(group, resource string) bool {
	return noExclusions[gvkschema.GroupResource{Group: group, Resource: resource}.String()] == "" && noExclusions["*."+group] == ""
}

// notExcludable returns why a resource takes no exclusion, "" if it takes one.
func notExcludable(resource gvkschema.GroupResource) string {
	for _, key := range []string{resource.String(), "*." + resource.Group} {
		if reason := noExclusions[key]; reason != "" {
			return reason
		}
	}
	return ""
}

var groups = sync.OnceValue(func() map[string]bool {
	all, err := registry.Load()
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, k := range all.Kinds {
		version, _, _ := strings.Cut(k.Kind, " ")
		group, _, qualified := strings.Cut(version, "/")
		if qualified {
			out[group] = true
		}
	}
	return out
})

// isBuiltin reports whether a group can be one of Kubernetes or of this project.
func isBuiltin(group string) bool {
	known := groups()
	return known == nil || known[group] || builtin[group] || !strings.Contains(group, ".")
}

// refusedPath returns why no entry can have a path, "" if one can.
func refusedPath(path Path) string {
	if len(path) == 0 {
		return "empty"
	}
	switch top := path[0].Name; {
	case top == "apiVersion", top == "kind":
		return "names the kind of the object, which nobody can change"
	case top != "metadata":
		return ""
	case len(path) == 1:
		return "name finalizers or ownerReferences: other fields of metadata can't have an entry"
	}
	switch second := path[1]; {
	case second.Name == "labels", second.Name == "annotations":
		return "use a ClusterProtectedAttribute for labels and annotations"
	case second.Name != "finalizers" && second.Name != "ownerReferences":
		return "of metadata only finalizers and ownerReferences can have an entry"
	case len(path) > 2:
		return "the field can have an entry only as a whole"
	}
	return ""
}
