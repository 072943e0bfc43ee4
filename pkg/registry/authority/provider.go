// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// Provider provides the storage of the API group authority.kube-granular.dev to one server.
type Provider struct {
	// Namespaces reads namespaces from storage.
	Namespaces corev1client.NamespacesGetter
	// BootstrapRoles is true if the server creates and maintains the bootstrap roles of the
	// group.
	BootstrapRoles bool

	// Attributes is true if the server serves protected attributes.
	Attributes bool
	// Delegations is nil if the server does not serve AuthorityDelegations.
	Delegations *Delegations
	// Policies is nil if the server does not serve AuthorityDelegationPolicies.
	Policies *Policies
	// FieldPermissions is nil if the server does not serve FieldPermissions.
	FieldPermissions *FieldPermissions

	// Observe is called with every change of a protected attribute by a request to this server,
	// on the goroutine of the request, before the request is answered. gone is true if the attribute
	// was removed. The attribute must not be modified or kept. It may be nil.
	Observe func(a authority.Attribute, gone bool)
	// Use is called with what the server has opened, before the server serves requests. It returns
	// what is to be run once the server does, which may be nil. If it returns an error, the server does
	// not start. Use may be nil.
	Use func(Opened) (Run, error)

	// run is what Use returned.
	run Run
}

// Opened is what a server has opened of the API group, for code in this process.
type Opened struct {
	// Attributes are the kinds of protected attributes.
	Attributes Kinds
	// Delegations is nil if the server does not serve AuthorityDelegations.
	Delegations *DelegationStorage
	// Policies lists and watches all AuthorityDelegationPolicies. It is nil if the server does not
	// serve them.
	Policies *cache.ListWatch
	// FieldPermissions lists and watches all FieldPermissions. It is nil if the server does not serve
	// them.
	FieldPermissions *cache.ListWatch
}

// Run returns once the code in this process that reads stored objects knows them all. Until then the
// server is not ready. self is the configuration with which the server is a client of itself.
type Run func(ctx context.Context, self *restclient.Config) error

var (
	_ controlplaneapiserver.RESTStorageProvider = &Provider{}
	_ genericapiserver.PostStartHookProvider    = &Provider{}
)

// GroupName implements controlplaneapiserver.RESTStorageProvider.
func (*Provider) GroupName() string { return v1alpha1.GroupName }

// NewRESTStorage implements controlplaneapiserver.RESTStorageProvider.
func (p *Provider) NewRESTStorage(resources serverstorage.APIResourceConfigSource, options generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error) {
	info := genericapiserver.NewDefaultAPIGroupInfo(v1alpha1.GroupName, legacyscheme.Scheme, legacyscheme.ParameterCodec, legacyscheme.Codecs)
	info.NegotiatedSerializer = withoutProtobuf{info.NegotiatedSerializer}

	storage, attributes := map[string]rest.Storage{}, map[string]Kind{}
	for _, k := range kinds {
		if !p.Attributes || !resources.ResourceEnabled(v1alpha1.SchemeGroupVersion.WithResource(k.plural)) {
			continue
		}
		store, status, err := newStore(k, options, p.Namespaces, p.Observe)
		if err != nil {
			return info, fmt.Errorf("open %s: %w", k.plural, err)
		}
		storage[k.plural], storage[k.plural+"/status"] = store, status
		attributes[k.plural] = newKind(k, store)
	}
	opened := Opened{Attributes: Kinds{Namespaced: attributes[kinds[0].plural], Cluster: attributes[kinds[1].plural]}}
	if p.Delegations != nil && resources.ResourceEnabled(v1alpha1.SchemeGroupVersion.WithResource(delegationsPlural)) {
		store, expiration, own, err := newDelegations(options, p.Delegations)
		if err != nil {
			return info, fmt.Errorf("open %s: %w", delegationsPlural, err)
		}
		storage[delegationsPlural], storage[expirationPath] = store, expiration
		opened.Delegations = own
	}
	if p.Policies != nil && resources.ResourceEnabled(v1alpha1.SchemeGroupVersion.WithResource(policiesPlural)) {
		store, err := newPolicies(options, p.Policies)
		if err != nil {
			return info, fmt.Errorf("open %s: %w", policiesPlural, err)
		}
		storage[policiesPlural] = store
		opened.Policies = listWatch(store)
	}
	if p.FieldPermissions != nil && resources.ResourceEnabled(v1alpha1.SchemeGroupVersion.WithResource(fieldsPlural)) {
		store, status, err := newFieldPermissions(options, p.FieldPermissions)
		if err != nil {
			return info, fmt.Errorf("open %s: %w", fieldsPlural, err)
		}
		storage[fieldsPlural], storage[fieldsPlural+"/status"] = store, status
		opened.FieldPermissions = listWatch(store)
	}
	if len(storage) > 0 {
		info.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = storage
	}
	if p.Use != nil {
		var err error
		if p.run, err = p.Use(opened); err != nil {
			return info, err
		}
	}
	return info, nil
}

// PostStartHook implements genericapiserver.PostStartHookProvider.
func (p *Provider) PostStartHook() (string, genericapiserver.PostStartHookFunc, error) {
	return "kube-granular/authority", func(hook genericapiserver.PostStartHookContext) error {
		client, err := clientset.NewForConfig(hook.LoopbackClientConfig)
		if err != nil {
			return err
		}
		go func() {
			if err := keepAPIService(hook, client); err != nil {
				utilruntime.HandleErrorWithContext(hook, err, "The APIService is no longer recreated when it is deleted", "name", apiServiceName)
			}
		}()
		// The stored objects must be read before the bootstrap roles are written: the requests that
		// write the roles may have to wait for that.
		if p.run != nil {
			if err := p.run(hook, hook.LoopbackClientConfig); err != nil && hook.Err() == nil {
				return err
			}
		}
		if !p.BootstrapRoles {
			return nil
		}
		return startRoles(hook, p.policy, hook.LoopbackClientConfig, rolesPatience)
	}, nil
}
