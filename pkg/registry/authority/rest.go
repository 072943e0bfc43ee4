// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
)

// kind describes a kind that is stored.
type kind struct {
	plural, singular, short string
	scope                   validation.Scope
	newObject, newList      func() runtime.Object
}

// kinds are the two kinds of protected attributes.
var kinds = []kind{
	{
		"protectedattributes", "protectedattribute", "pattr", validation.Namespaced,
		func() runtime.Object { return &authority.ProtectedAttribute{} },
		func() runtime.Object { return &authority.ProtectedAttributeList{} },
	},
	{
		"clusterprotectedattributes", "clusterprotectedattribute", "cpattr", validation.Cluster,
		func() runtime.Object { return &authority.ClusterProtectedAttribute{} },
		func() runtime.Object { return &authority.ClusterProtectedAttributeList{} },
	},
}

func (k kind) strategy() strategy {
	return strategy{legacyscheme.Scheme, names.SimpleNameGenerator, k.scope}
}

// store returns a store of the kind without hooks, which must be completed.
func (k kind) store(s interface {
	rest.RESTCreateStrategy
	rest.RESTUpdateStrategy
	rest.RESTDeleteStrategy
	rest.ResetFieldsStrategy
}, columns table) *genericregistry.Store {
	return &genericregistry.Store{
		NewFunc:                   k.newObject,
		NewListFunc:               k.newList,
		DefaultQualifiedResource:  v1alpha1.Resource(k.plural),
		SingularQualifiedResource: v1alpha1.Resource(k.singular),
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            columns,
	}
}

// resourceREST is the endpoint of one resource of the API group.
type resourceREST struct {
	*genericregistry.Store
	short string
}

var (
	_ rest.StandardStorage    = resourceREST{}
	_ rest.ShortNamesProvider = resourceREST{}
	_ rest.CategoriesProvider = resourceREST{}
)

// ShortNames implements rest.ShortNamesProvider. "pa" is not used because Knative has it.
func (o resourceREST) ShortNames() []string { return []string{o.short} }

// Categories implements rest.CategoriesProvider. The category "all" is left out on purpose, so that
// "kubectl delete all --all" in a namespace does not remove the objects that protect the namespace.
func (resourceREST) Categories() []string { return []string{"authority"} }

// newStore returns two endpoints of one kind of protected attribute: for the objects, and for their
// status. observe is called with each change, and may be nil.
func newStore(
	k kind, options generic.RESTOptionsGetter, namespaces corev1client.NamespacesGetter, observe func(a authority.Attribute, gone bool),
) (resourceREST, statusREST, error) {
	s := k.strategy()
	store := k.store(s, attributeTable)
	store.BeginCreate = setNamespaceUID(namespaces)
	err := store.CompleteWithOptions(&generic.StoreOptions{
		RESTOptions: jsonOptions{options},
		AttrFunc:    attributesOf,
	})
	if err != nil {
		return resourceREST{}, statusREST{}, err
	}
	if observe != nil {
		notify(store, observe)
	}
	status := *store
	status.UpdateStrategy = statusStrategy{s}
	status.ResetFieldsStrategy = statusStrategy{s}
	return resourceREST{store, k.short}, statusREST{&status}, nil
}

// attributesOf returns the labels and selectable fields of a protected attribute.
func attributesOf(obj runtime.Object) (labels.Set, fields.Set, error) {
	meta, spec, _ := obj.(authority.Attribute).Parts()
	selectable := generic.ObjectMetaFieldsSet(meta, meta.Namespace != "")
	selectable[authority.SelectKind], selectable[authority.SelectName] = string(spec.AttributeKind), spec.AttributeName
	return labels.Set(meta.Labels), selectable, nil
}

// statusREST is the endpoint of the status of one kind of protected attribute. It writes to the
// same storage as the endpoint of the kind.
type statusREST struct{ store *genericregistry.Store }

var (
	_ rest.Patcher             = statusREST{}
	_ rest.ResetFieldsStrategy = statusREST{}
	_ rest.TableConvertor      = statusREST{}
)

// New implements rest.Storage.
func (r statusREST) New() runtime.Object { return r.store.New() }

// Destroy implements rest.Storage. It does nothing, because the endpoint of the kind destroys
// the storage.
func (statusREST) Destroy() {}

// Get implements rest.Getter, which patches need.
func (r statusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update implements rest.Updater. It never creates an object.
func (r statusREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, info, create, update, false, options)
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (r statusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable implements rest.TableConvertor.
func (r statusREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}
