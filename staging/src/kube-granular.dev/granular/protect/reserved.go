// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"
	"strings"

	"kube-granular.dev/granular/schema"
)

// reserved are keys that the server and its controllers set on objects of any caller. If such a
// key were protected, nobody could create a pod or a namespace.
var reserved = map[attribute]bool{}

func init() {
	for _, key := range []string{
		"kubernetes.io/metadata.name",
		"pod-template-hash", "pod-template-generation", "controller-revision-hash", "controller.kubernetes.io/hash",
		"controller-uid", "batch.kubernetes.io/controller-uid",
		"job-name", "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index",
		"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index",
		"kubernetes.io/service-name", "service.kubernetes.io/headless",
		"endpoints.kubernetes.io/managed-by", "endpointslice.kubernetes.io/managed-by",
	} {
		reserved[attribute{schema.Label, key}] = true
	}
	for _, key := range []string{
		"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
		"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
		"deprecated.daemonset.template.generation", "deprecated.deployment.rollback.revision",
		"batch.kubernetes.io/job-completion-index", "batch.kubernetes.io/job-tracking",
		"batch.kubernetes.io/job-index-failure-count",
		"batch.kubernetes.io/cronjob-scheduled-timestamp",
		"endpoints.kubernetes.io/last-change-trigger-time", "endpoints.kubernetes.io/over-capacity",
	} {
		reserved[attribute{schema.Annotation, key}] = true
	}
}

// ReservedIn returns the keys of a domain, such as example.com/, that the server itself sets, sorted. It does not return stamps.
func ReservedIn(kind schema.Attribute, domain string) []string {
	var out []string
	for a := range reserved {
		if a.kind == kind && strings.HasPrefix(a.key, domain) {
			out = append(out, a.key)
		}
	}
	slices.Sort(out)
	return out
}

// stampDomain is the end of the domain in the keys of stamps: annotations with which the server
// records the delegation under which an object was written. The domain begins with a resource.
const stampDomain = ".authority.kube-granular.dev/"

// Reserved reports whether the server itself sets a key. No entry protects such a key:
// Entry.Problems reports an entry that names the key, and an entry that names the domain of the key
// does not cover it. Reserved is also true for the domain of stamps, such as
// pods.authority.kube-granular.dev/*.
func Reserved(kind schema.Attribute, key string) bool {
	return reserved[attribute{kind, key}] || kind == schema.Annotation && strings.HasSuffix(domain(key), stampDomain)
}
