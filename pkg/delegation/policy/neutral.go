// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/registry"
)

// replicas is the only permission that policies for any resource can list as neutral. Changes of
// the fields of a neutral permission do not trigger a policy. For a resource without replicas, it
// has no effect.
const replicas = "replicas"

// neutral returns the fields that a permission covers in the objects of a resource, for a policy
// that lists the permission as neutral: changes of these fields do not trigger the policy. It
// returns an error if the permission can't be neutral for the resource.
func neutral(permission string, r schema.GroupResource) ([]fieldPath, error) {
	kinds := builtIn().kinds[r]
	known, err := registry.Lookup(permission)
	switch {
	case err != nil:
		return nil, err
	case len(kinds) == 0 && permission == replicas:
		return nil, nil
	case len(kinds) == 0:
		return nil, fmt.Errorf("permission %q of %s is not known: for resources that are not part of Kubernetes, only replicas can be neutral", permission, r)
	case known == nil:
		return nil, fmt.Errorf("there is no permission %q", permission)
	case known.Excluded:
		return nil, fmt.Errorf("permission %q is excluded, and can't be neutral", permission)
	}
	var out []fieldPath
	for _, place := range known.Places {
		for _, kind := range place.Kinds {
			if slices.Contains(kinds, kind) && strings.HasPrefix(place.Path, ".") {
				out = append(out, parse(place.Path))
			}
		}
	}
	if len(out) == 0 && permission != replicas {
		return nil, fmt.Errorf("%s have no permission %q", r, permission)
	}
	return out, nil
}

// ValidateNeutral checks the neutral permissions of a policy for the resource r: those of fields
// whose changes do not trigger the policy. It returns an error for each permission that can't be
// neutral. The keys of the map are indexes in the list.
func ValidateNeutral(permissions []string, r schema.GroupResource) map[int]error {
	out := map[int]error{}
	for i, permission := range permissions {
		if _, err := neutral(permission, r); err != nil {
			out[i] = err
		}
	}
	return out
}

// StoredAs returns the resource whose objects are those of r as well, if it is another one than r:
// an object of events.events.k8s.io is an object of events. A policy must name the resource that
// ResourceOf returns for its objects.
func StoredAs(r schema.GroupResource) (schema.GroupResource, bool) {
	for _, kind := range builtIn().kinds[r] {
		version, name, _ := strings.Cut(kind, " ")
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			continue
		}
		obj, err := legacyscheme.Scheme.New(schema.GroupVersionKind{Group: gv.Group, Version: runtime.APIVersionInternal, Kind: name})
		if err != nil {
			continue
		}
		if resource := ResourceOf(obj, r); resource != r {
			return resource, true
		}
	}
	return r, false
}

// answered are the resources of Kubernetes whose objects are questions, orders or summaries: the
// server answers a write of them, and stores nothing under their name.
var answered = map[schema.GroupResource]bool{
	{Resource: "bindings"}:                                                 true,
	{Resource: "componentstatuses"}:                                        true,
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"}:       true,
	{Group: "authentication.k8s.io", Resource: "tokenreviews"}:             true,
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"}: true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}:  true,
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"}:   true,
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}:      true,
	{Group: "authentication.k8s.io", Resource: "tokenrequests"}:            true,
	{Group: "autoscaling", Resource: "scales"}:                             true,
	{Group: "policy", Resource: "evictions"}:                               true,
}

// NeverStored returns why no object of a resource is ever stored, so that a policy for it would never
// be triggered, or "" if objects may be stored. In the API groups that Kubernetes has itself it knows
// all resources, so that it also finds a kind that is only served at another resource, such as
// Eviction.
func NeverStored(r schema.GroupResource) string {
	switch {
	case answered[r]:
		return "its objects are never stored, so they can't trigger a policy"
	case legacyscheme.Scheme.IsGroupRegistered(r.Group) && len(builtIn().kinds[r]) == 0:
		return "is no resource of this API group whose objects are stored"
	}
	return ""
}

type builtInKinds struct {
	// kinds are the kinds of each resource, in the format of the registry of permissions, such as
	// "apps/v1 Deployment".
	kinds map[schema.GroupResource][]string
	// resources is the resource of each kind.
	resources map[schema.GroupKind]schema.GroupResource
}

var builtIn = sync.OnceValue(func() builtInKinds {
	out := builtInKinds{map[schema.GroupResource][]string{}, map[schema.GroupKind]schema.GroupResource{}}
	all, err := registry.Load()
	if err != nil {
		return out
	}
	for _, kind := range all.Kinds {
		version, name, _ := strings.Cut(kind.Kind, " ")
		gv, err := schema.ParseGroupVersion(version)
		if err != nil {
			continue
		}
		for _, resource := range kind.Resources {
			if strings.Contains(resource, "/") {
				continue
			}
			r := schema.ParseGroupResource(resource)
			out.kinds[r] = append(out.kinds[r], kind.Kind)
			if gk := (schema.GroupKind{Group: gv.Group, Kind: name}); name != "Binding" {
				out.resources[gk] = r
			}
		}
	}
	return out
})

// ResourceOf returns the resource of an object that is about to be stored. For a built-in type
// it follows from the Go type. For other types it is the resource of the request.
func ResourceOf(obj runtime.Object, requested schema.GroupResource) schema.GroupResource {
	if _, custom := obj.(runtime.Unstructured); custom {
		return requested
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return requested
	}
	for _, kind := range kinds {
		if r, ok := builtIn().resources[kind.GroupKind()]; ok {
			return r
		}
	}
	return requested
}
