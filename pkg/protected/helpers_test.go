// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/apis/authority"
	registry "kube-granular.dev/pkg/registry/authority"
)

// attribute returns an attribute that protects the label key, in a namespace, or cluster-wide if
// namespace is empty.
func attribute(namespace, name, key string, version int) authority.Attribute {
	spec := v1alpha1.ProtectedAttributeSpec{AttributeKind: v1alpha1.AttributeLabel, AttributeName: key}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: strconv.Itoa(version)}
	if namespace == "" {
		return &authority.ClusterProtectedAttribute{ObjectMeta: meta, Spec: spec}
	}
	return &authority.ProtectedAttribute{ObjectMeta: meta, Spec: spec}
}

// madeIn sets the UID of the namespace and the creation time of an attribute, by which it
// belongs to a namespace.
func madeIn(a authority.Attribute, uid types.UID, created time.Time) authority.Attribute {
	meta, _, status := a.Parts()
	status.NamespaceUID, meta.CreationTimestamp = uid, metav1.NewTime(created)
	return a
}

func refers(a authority.Attribute, kind, role string) authority.Attribute {
	_, spec, _ := a.Parts()
	spec.RoleRef = &v1alpha1.RoleReference{Kind: kind, Name: role}
	return a
}

func change(a authority.Attribute, gone bool) registry.Change {
	version, _ := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	return registry.Change{Attribute: a, Gone: gone, ResourceVersion: version}
}

var pods = protect.Builtin().Target(protect.Resource{Resource: "pods"}, nil)

// wanted reports whether a set protects a label in a namespace.
func wanted(set *protect.Set, namespace, key string) bool {
	return protect.NewDecider(set, namespace, pods, nil, 0).Wanted(schema.Label, key)
}
