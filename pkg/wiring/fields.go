// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/fieldpermission/status"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// newFieldIndexOrNil returns the index of the FieldPermissions of a new server.
func (s *shared) newFieldIndexOrNil() *fieldpermission.Index {
	if !fieldPermissionsEnabled() {
		return nil
	}
	index := fieldpermission.NewIndex()
	s.fields.Store(index)
	return index
}

// fieldIndexOf returns the FieldPermissions of the server whose authorizer is a. It returns nil if the feature
// gate FieldPermissions is off.
func fieldIndexOf(a upstream.UnconditionalAuthorizer) *fieldpermission.Index {
	if holder, ok := a.(interface {
		fieldPermissions() *fieldpermission.Index
	}); ok {
		return holder.fieldPermissions()
	}
	return nil
}

// fieldAuthoring is what one server has for the authors of FieldPermissions. It is complete when it is made.
type fieldAuthoring struct {
	index  *fieldpermission.Index
	author *fieldpermission.Author
}

// newFieldAuthoring must be called before the informers of config are started, because it uses some. If the server serves no
// roles, it does without: no decision about a write depends on them.
func newFieldAuthoring(
	index *fieldpermission.Index, config controlplaneapiserver.CompletedConfig, client kubernetes.Interface, servesRoles bool,
) *fieldAuthoring {
	var roles *fieldpermission.Roles
	if servesRoles {
		var err error
		roles, err = fieldpermission.NewRoles(config.VersionedInformers.Rbac().V1(), index.NotifyChange)
		utilruntime.Must(err) // the informers have not started, so this can't fail
	}
	loopback := config.Generic.LoopbackClientConfig
	return &fieldAuthoring{index: index, author: &fieldpermission.Author{
		Roles: roles, Own: index.Own,
		Resources: &fieldpermission.Resources{
			Schemes:  []*runtime.Scheme{legacyscheme.Scheme, extensionsapiserver.Scheme, aggregatorscheme.Scheme},
			OpenAPI:  config.Generic.OpenAPIV3Config,
			Discover: client.Discovery().ServerResourcesForGroupVersion,
			Definition: func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
				client, err := apiextensions.NewForConfig(loopback)
				if err != nil {
					return nil, err
				}
				return client.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
			},
		},
	}}
}

// provideTo makes a provider serve FieldPermissions.
func (f *fieldAuthoring) provideTo(provider *authorityregistry.Provider) {
	provider.FieldPermissions = &authorityregistry.FieldPermissions{
		Prepare: f.author.Prepare, Observe: f.index.Observe,
		Changed: func(ctx context.Context, changes []authorityregistry.FieldChange, dryRun bool) {
			converted := make([]fieldpermission.Change, len(changes))
			for i, c := range changes {
				converted[i] = fieldpermission.Change(c)
			}
			f.author.Changed(ctx, converted, dryRun)
		},
	}
}

// use returns what reads the stored FieldPermissions and writes their statuses.
func (f *fieldAuthoring) use(opened authorityregistry.Opened) (authorityregistry.Run, error) {
	stored := opened.FieldPermissions
	if stored == nil {
		return nil, turnedOff(features.FieldPermissions, v1alpha1.Resource("fieldpermissions"))
	}
	return func(ctx context.Context, self *rest.Config) error {
		if err := f.index.Run(ctx, stored); err != nil {
			return err
		}
		return status.Start(ctx, status.Config{Index: f.index, Resources: f.author.Resources, Roles: f.author.Roles}, self)
	}, nil
}
