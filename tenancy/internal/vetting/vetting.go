// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vetting compares what the users of tenants may do in a cluster with what somebody
// has looked at before.
//
// The roles edit and admin are Kubernetes' own, and others aggregate rules into them. A list
// of what they allow and of all API resources is kept for the version that was vetted; what
// a cluster has beyond it is what users would gain.
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

// List is what is vetted.
type List struct {
	// Version is that of Kubernetes, as in v1.37.1.
	Version string `json:"version"`
	// Resources are all API resources: group/resource, and whether they are namespaced.
	Resources []string `json:"resources"`
	// Rules are what each role allows: group/resource verb.
	Rules map[string][]string `json:"rules"`
}

// NewList returns the list of a cluster. Versions of a group are left out: roles have none.
func NewList(version string, discovered []*metav1.APIResourceList, roles []rbacv1.ClusterRole) List {
	version, _, _ = strings.Cut(version, "+")
	l := List{Version: version, Rules: map[string][]string{}}
	for _, list := range discovered {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
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

// Gains returns what one who is bound to a role could do in the cluster and not in what was
// vetted: new rules, and new resources, which a rule with a star would cover.
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
