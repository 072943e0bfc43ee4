// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vetting compares the permissions of tenant users in a cluster with a vetted list: a list
// of permissions that somebody has reviewed.
//
// The ClusterRoles edit and admin are built into Kubernetes, and other components aggregate rules
// into them. The vetted list has the rules of both roles, and all API resources, in one version of
// Kubernetes. If a cluster has more rules or resources, tenant users could do more there than was
// reviewed.
package vetting

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Roles are the ClusterRoles that are vetted.
var Roles = []string{"edit", "admin"}

// List has the API resources of a cluster and the rules of the roles.
type List struct {
	// Version is the Kubernetes version, such as v1.37.1.
	Version string `json:"version"`
	// Resources are all API resources in the format "GROUP/RESOURCE SCOPE", where SCOPE is
	// namespaced or cluster.
	Resources []string `json:"resources"`
	// Rules maps the name of a role to its rules, in the format "GROUP/RESOURCE VERB". If a rule
	// is only for objects with certain names, the format is "GROUP/RESOURCE VERB NAME,NAME".
	Rules map[string][]string `json:"rules"`
}

// own are the API groups of this project. Sudo only reads their resources, so a cluster with the
// controller of tenants allows users no more than one without it.
var own = []string{"authority.kube-granular.dev", "tenancy.kube-granular.dev"}

// NewList returns the list of a cluster: its version, its resources from discovery without those of
// this project, and the rules of the given roles. The resources in the list have no API versions,
// because rules of a role have none.
func NewList(version string, discovered []*metav1.APIResourceList, roles []rbacv1.ClusterRole) List {
	version, _, _ = strings.Cut(version, "+")
	l := List{Version: version, Rules: map[string][]string{}}
	for _, list := range discovered {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || slices.Contains(own, gv.Group) {
			continue
		}
		for _, r := range list.APIResources {
			scope := "cluster"
			if r.Namespaced {
				scope = "namespaced"
			}
			l.Resources = append(l.Resources, gv.Group+"/"+r.Name+" "+scope)
		}
	}
	l.Resources = sorted(l.Resources)
	for _, role := range roles {
		var rules []string
		for _, r := range role.Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						rule := group + "/" + resource + " " + verb
						if len(r.ResourceNames) > 0 {
							rule += " " + strings.Join(r.ResourceNames, ",")
						}
						rules = append(rules, rule)
					}
				}
			}
		}
		l.Rules[role.Name] = sorted(rules)
	}
	return l
}

// Gains returns the rules and resources of the cluster that are not in the vetted list, one string
// for each. A new resource counts because an existing rule with a wildcard could cover it. If the
// versions of Kubernetes differ, there is a string for this difference too.
func Gains(vetted, cluster List) []string {
	var gains []string
	if vetted.Version != cluster.Version {
		gains = append(gains, "version: vetted is "+vetted.Version+", the cluster is "+cluster.Version)
	}
	for _, role := range Roles {
		for _, rule := range notIn(vetted.Rules[role], cluster.Rules[role]) {
			gains = append(gains, role+": "+rule)
		}
	}
	for _, resource := range notIn(vetted.Resources, cluster.Resources) {
		gains = append(gains, "resource: "+resource)
	}
	return gains
}

func notIn(vetted, now []string) []string {
	return slices.DeleteFunc(slices.Clone(now), func(s string) bool {
		_, found := slices.BinarySearch(vetted, s)
		return found
	})
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
