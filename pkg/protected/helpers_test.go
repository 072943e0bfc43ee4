// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/apis/authority"
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

// reach lets the watch of one kind reach a version.
func reach(t *testing.T, watch cache.ReflectorStore, version string) {
	t.Helper()
	if err := watch.(cache.ReflectorBookmarkStore).Bookmark(version); err != nil {
		t.Error(err)
	}
}

// listed reports whether both kinds were listed.
func (x *Index) listed() bool { return x.kinds[namespaced].HasSynced() && x.kinds[cluster].HasSynced() }

// tombstones returns how many of the attributes with some names in one namespace have a tombstone.
func (x *Index) tombstones(namespace string, names ...string) (n int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, one := range names {
		if x.kinds[namespaced].Tombstone(name{namespace, one}) > 0 {
			n++
		}
	}
	return n
}

var pods = protect.Builtin().Target(protect.Resource{Resource: "pods"}, nil)

// wanted reports whether a set protects a label in a namespace.
func wanted(set *protect.Set, namespace, key string) bool {
	return protect.NewDecider(set, namespace, pods, nil, 0).Wanted(schema.Label, key)
}
