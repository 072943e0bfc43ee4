// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"kube-granular.dev/pkg/cli/pages"
)

// Effect is what a server without the patches does to an object.
type Effect string

// The effects, in the order in which they matter.
const (
	// Open means that somebody may do what is refused now.
	Open Effect = "Open"
	// Lost means that something that works now does not.
	Lost Effect = "Lost"
	// Left means that something stays in the cluster that has no use.
	Left Effect = "Left"
)

var effects = []Effect{Open, Lost, Left}

// Finding is one thing that changes.
type Finding struct {
	Effect Effect `json:"effect"`
	// Object is what it is about, as RESOURCE/NAME or RESOURCE/NAMESPACE/NAME.
	Object string `json:"object"`
	// What says what changes.
	What string `json:"what"`
}

// source is a resource, with the function that finds what changes for one of its objects.
type source struct {
	resource schema.GroupVersionResource
	find     func(u *unstructured.Unstructured) []Finding
}

func authority(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "authority.kube-granular.dev", Version: "v1alpha1", Resource: resource}
}

func rbac(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
}

var sources = []source{
	{schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, definition},
	{authority("fieldpermissions"), fieldPermission},
	{authority("clusterprotectedattributes"), protectedAttribute},
	{authority("protectedattributes"), protectedAttribute},
	{authority("authoritydelegations"), delegation},
	{authority("authoritydelegationpolicies"), delegationPolicy},
	{schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, account},
	{rbac("clusterroles"), role},
	{rbac("roles"), role},
	{rbac("clusterrolebindings"), bootstrapBinding},
	{schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, lease},
	{schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, apiService},
}

// Read returns what changes in a cluster, by effect and then by object.
func Read(ctx context.Context, client dynamic.Interface) ([]Finding, error) {
	var out []Finding
	for _, s := range sources {
		err := each(ctx, client, s.resource, func(u *unstructured.Unstructured) {
			for _, f := range s.find(u) {
				f.Object = name(s.resource.Resource, u)
				out = append(out, f)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(effects, a.Effect), slices.Index(effects, b.Effect)), cmp.Compare(a.Object, b.Object))
	})
	return out, nil
}

// each visits all objects of a resource.
func each(
	ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, visit func(u *unstructured.Unstructured),
) error {
	err := pages.Each(ctx, client.Resource(resource).List, func(u *unstructured.Unstructured) error {
		visit(u)
		return nil
	})
	// A resource whose feature gate is off is not served, and has no effect now either.
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return nil
}

func name(resource string, u *unstructured.Unstructured) string {
	if u.GetNamespace() != "" {
		return resource + "/" + u.GetNamespace() + "/" + u.GetName()
	}
	return resource + "/" + u.GetName()
}

// Count returns the number of findings with an effect.
func Count(all []Finding, effect Effect) int {
	n := 0
	for _, f := range all {
		if f.Effect == effect {
			n++
		}
	}
	return n
}
