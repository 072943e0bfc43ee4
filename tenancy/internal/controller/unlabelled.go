// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"kube-granular.dev/tenancy/internal/names"
)

// unlabelledKinds are the kinds in the cache of newUnlabelled.
var unlabelledKinds = []string{"ClusterRole", "ClusterRoleBinding"}

// newUnlabelled returns a cache with the metadata of the cluster-scoped objects of RBAC that do not have
// the controller's label. Somebody may have removed the label of an object of a tenant. Without this
// cache, the controller would have to ask the server for each object that a tenant must not have.
func newUnlabelled(mgr ctrl.Manager) (cache.Cache, error) {
	others, err := labels.NewRequirement(names.ManagedBy, selection.NotEquals, []string{names.Manager})
	if err != nil {
		return nil, err
	}
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range unlabelledKinds {
		byObject[metadataOf(kind)] = cache.ByObject{Label: labels.NewSelector().Add(*others)}
	}
	c, err := cluster.New(mgr.GetConfig(), func(o *cluster.Options) {
		o.Scheme, o.HTTPClient = mgr.GetScheme(), mgr.GetHTTPClient()
		o.Cache = cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: byObject}
	})
	if err != nil {
		return nil, err
	}
	return c.GetCache(), mgr.Add(c)
}

// metadataOf returns the metadata of an object of RBAC.
func metadataOf(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
	return object
}
