// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	openapiutil "k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
)

// Resource is a resource whose objects this server stores.
type Resource struct {
	schema.GroupResource
	Kind string
	// Versions are the served versions. The first one is preferred.
	Versions []string
	// Custom is set for a custom resource. Webhook is set if a webhook converts its objects. Otherwise a
	// custom resource has the same paths in all versions.
	Custom, Webhook bool
	// models returns the definitions of a version.
	models func(version string) (map[string]*spec.Schema, error)
	// settings returns an effect for each field of entries that the definition sets itself. It is nil for a built-in resource.
	settings func(*overlay.Entries) []effect
}

// In returns the kind of the resource in a version.
func (r *Resource) In(version string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: version, Kind: r.Kind}
}

// Models returns the definitions of a version, which must not be modified. An Apply of entries needs them.
func (r *Resource) Models(version string) (map[string]*spec.Schema, error) {
	out, err := r.models(version)
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s in version %s: %w", r.GroupResource, version, err)
	}
	return out, nil
}

// Served reports whether the resource is served in a version.
func (r *Resource) Served(version string) bool { return slices.Contains(r.Versions, version) }

// Resources finds the resources whose objects this server stores: built-in kinds and custom resources.
// Those that other servers serve are not among them.
type Resources struct {
	// Schemes have the types of built-in kinds.
	Schemes []*runtime.Scheme
	// OpenAPI has their definitions.
	OpenAPI *common.OpenAPIV3Config
	// Discover returns the resources that are served in a built-in group and version.
	Discover func(groupVersion string) (*metav1.APIResourceList, error)
	// Definition reads a CustomResourceDefinition from storage.
	Definition func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)

	// builtin has the built-in resources that were found, because they do not change.
	builtin sync.Map
}

// Find returns a resource, or nil if this server stores no objects of it.
func (r *Resources) Find(ctx context.Context, resource schema.GroupResource) (*Resource, error) {
	if found, err := r.FindBuiltIn(resource); found != nil || err != nil || resource.Group == "" {
		return found, err
	}
	crd, err := r.Definition(ctx, resource.String())
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the definition of %s: %w", resource, err)
	}
	if found := CustomResource(crd); len(found.Versions) > 0 {
		return found, nil
	}
	return nil, nil // no version is served
}

// FindBuiltIn returns a built-in resource, or nil if there is no such one. It always returns the same pointer.
func (r *Resources) FindBuiltIn(resource schema.GroupResource) (*Resource, error) {
	if known, ok := r.builtin.Load(resource); ok {
		return known.(*Resource), nil
	}
	for _, scheme := range r.Schemes {
		versions := scheme.PrioritizedVersionsForGroup(resource.Group)
		if len(versions) == 0 {
			continue
		}
		found, err := r.builtIn(scheme, resource, versions)
		if found == nil || err != nil {
			return nil, err
		}
		known, _ := r.builtin.LoadOrStore(resource, found)
		return known.(*Resource), nil
	}
	return nil, nil
}

func (r *Resources) builtIn(scheme *runtime.Scheme, resource schema.GroupResource, versions []schema.GroupVersion) (*Resource, error) {
	out := &Resource{GroupResource: resource}
	for _, gv := range versions {
		list, err := r.Discover(gv.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("discover %s: %w", gv, err)
		}
		for _, served := range list.APIResources {
			if served.Name == resource.Resource {
				out.Kind, out.Versions = served.Kind, append(out.Versions, gv.Version)
			}
		}
	}
	if len(out.Versions) == 0 {
		return nil, nil
	}
	out.models = func(version string) (map[string]*spec.Schema, error) {
		example, err := scheme.New(out.In(version))
		if err != nil {
			return nil, err
		}
		return builder3.BuildOpenAPIDefinitionsForResources(r.OpenAPI, openapiutil.GetCanonicalTypeName(example))
	}
	return out, nil
}

// CustomResource returns the resource of a definition.
func CustomResource(crd *apiextensionsv1.CustomResourceDefinition) *Resource {
	out := &Resource{
		GroupResource: schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural},
		Kind:          crd.Spec.Names.Kind, Custom: true,
		Webhook: crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter,
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			out.Versions = append(out.Versions, v.Name)
		}
	}
	slices.SortFunc(out.Versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	out.models = func(version string) (map[string]*spec.Schema, error) {
		made, err := builder.BuildOpenAPIV3(crd, version, builder.Options{})
		if err != nil {
			return nil, err
		}
		return made.Components.Schemas, nil
	}
	out.settings = func(entries *overlay.Entries) []effect { return settings(crd, entries) }
	return out
}
