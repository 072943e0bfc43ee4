// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/mirror"
	"kube-granular.dev/pkg/protected"
	"kube-granular.dev/pkg/protected/status"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// server is what one server has of the API group authority.kube-granular.dev, besides its storage.
type server struct {
	// protection is nil if the feature gate ProtectedAttributes is off.
	protection *protected.Protection
	// delegating is nil if the feature gate AuthorityDelegation is off.
	delegating *delegating
	// fields is nil if the feature gate FieldPermissions is off.
	fields *fieldAuthoring
	// rolesOff is a resource of RBAC that the server does not serve, or nil. Then its informers of roles and bindings never have
	// what is stored, and upstream's check of informers fails as long as there are such informers.
	rolesOff *schema.GroupResource
}

// rolesTurnedOff returns the first resource of RBAC that a server does not serve, or nil if it serves all.
func rolesTurnedOff(resources serverstorage.APIResourceConfigSource) *schema.GroupResource {
	for _, resource := range []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		if !resources.ResourceEnabled(rbacv1.SchemeGroupVersion.WithResource(resource)) {
			return &schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}
		}
	}
	return nil
}

// authorityProvider returns the storage of the API group authority.kube-granular.dev for one
// server. If RBAC is configured, the server maintains the bootstrap roles of the group, as it
// does upstream's bootstrap roles.
func (s *shared) authorityProvider(config controlplaneapiserver.CompletedConfig, client kubernetes.Interface) controlplaneapiserver.RESTStorageProvider {
	one := &server{
		protection: protectionOf(config.Generic.Authorization.Authorizer), rolesOff: rolesTurnedOff(config.APIResourceConfigSource),
	}
	provider := &authorityregistry.Provider{
		Namespaces:     client.CoreV1(),
		BootstrapRoles: one.rolesOff == nil && !config.Generic.DisabledPostStartHooks.Has(rbacrest.PostStartHookName),
		Attributes:     protectedAttributesEnabled(),
		Use:            one.use,
	}
	if delegationEnabled() {
		one.delegating = newDelegating(s, config, client)
		one.delegating.provideTo(provider)
	}
	if one.protection != nil {
		// The informers have not started, so this can't fail.
		utilruntime.Must(one.protection.UseInformers(config.VersionedInformers))
		provider.Observe = one.protection.Observe
	}
	if index := fieldIndexOf(config.Generic.Authorization.Authorizer); index != nil {
		one.fields = newFieldAuthoring(index, config, client, one.rolesOff == nil)
		one.fields.provideTo(provider)
	}
	return provider
}

// turnedOff returns the error for a resource that a feature gate needs, and that the server does not serve. Without it, the server
// would not enforce what is stored, or wait for it without end.
func turnedOff(gate featuregate.Feature, resource schema.GroupResource) error {
	return fmt.Errorf("the feature gate %s is on, but --runtime-config turns the resource %s off", gate, resource)
}

// use hands what the server has opened to its parts. It returns what reads the stored objects, of all parts at once.
func (s *server) use(opened authorityregistry.Opened) (authorityregistry.Run, error) {
	var runs []authorityregistry.Run
	if s.protection != nil {
		switch {
		case s.rolesOff != nil:
			return nil, turnedOff(features.ProtectedAttributes, *s.rolesOff)
		case opened.Attributes.Namespaced.ListWatch == nil:
			return nil, turnedOff(features.ProtectedAttributes, v1alpha1.Resource("protectedattributes"))
		case opened.Attributes.Cluster.ListWatch == nil:
			return nil, turnedOff(features.ProtectedAttributes, v1alpha1.Resource("clusterprotectedattributes"))
		}
		s.protection.SetKinds(opened.Attributes)
		runs = append(runs, func(ctx context.Context, self *rest.Config) error {
			if err := s.protection.Run(ctx); err != nil {
				return err
			}
			return status.Start(ctx, s.protection, self)
		})
	}
	if s.delegating != nil {
		if s.rolesOff != nil {
			return nil, turnedOff(features.AuthorityDelegation, *s.rolesOff)
		}
		run, err := s.delegating.use(opened)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	if s.fields != nil {
		run, err := s.fields.use(opened)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return func(ctx context.Context, self *rest.Config) error {
		parts := make([]func(context.Context) error, len(runs))
		for i, run := range runs {
			parts[i] = func(ctx context.Context) error { return run(ctx, self) }
		}
		return mirror.RunAll(ctx, parts...)
	}, nil
}
