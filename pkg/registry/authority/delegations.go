// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/apiserver/pkg/util/dryrun"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/audit"
)

// Delegations is what a server does with delegations besides storing them.
type Delegations struct {
	// Prepare writes the status of one that is about to be created, or fails.
	Prepare func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
	// Observe is called with every one that was stored or removed, before that is answered.
	Observe func(d *v1alpha1.AuthorityDelegation, gone bool)
	// WaitForCommits is called after that, and before it is answered.
	WaitForCommits func()
	// SetStorage is called once they can be read, before the server serves.
	SetStorage func(DelegationStorage)
	// Run is called once the server serves, and returns when all of them are known. Until
	// then the server is not ready. It is given how the server reaches itself. Opened may set it.
	Run func(ctx context.Context, self *restclient.Config) error
}

// DelegationStorage is how the process of the server itself reads and writes delegations.
type DelegationStorage struct {
	// ListWatch lists and watches all, as Kind.ListWatch does.
	ListWatch *cache.ListWatch
	// Get reads one from storage.
	Get func(ctx context.Context, name string) (*v1alpha1.AuthorityDelegation, error)
	// WriteUse writes down when one was last used.
	WriteUse func(ctx context.Context, name string, at time.Time) error
	// Create stores one that a policy causes, status included.
	Create func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error)
	// Renew writes down when one that a policy caused was given to an object. It fails where it
	// is gone, or another has its name.
	Renew func(ctx context.Context, d *v1alpha1.AuthorityDelegation, at time.Time) error
	// DeleteUnchanged removes one as it was read, and fails where it has changed.
	DeleteUnchanged func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
}

const delegationsPlural = "authoritydelegations"

// delegationREST is the endpoint of delegations. There is none of their status, which the
// server alone writes.
type delegationREST struct {
	resourceREST
	waitForCommits func()
}

var _ rest.StandardStorage = delegationREST{}

// Update implements rest.Updater. It is answered when nothing is stored any more that was
// allowed before.
func (o delegationREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	defer o.waitForCommits()
	return o.resourceREST.Update(ctx, name, info, create, update, forceAllowCreate, options)
}

// Delete implements rest.GracefulDeleter, in the way of Update.
func (o delegationREST) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	defer o.waitForCommits()
	return o.resourceREST.Delete(ctx, name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter, in the way of Update.
func (o delegationREST) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions) (runtime.Object, error) {
	defer o.waitForCommits()
	return o.resourceREST.DeleteCollection(ctx, validate, options, list)
}

func newDelegations(options generic.RESTOptionsGetter, d *Delegations) (delegationREST, error) {
	s := delegationStrategy{strategy{legacyscheme.Scheme, names.SimpleNameGenerator, true}}
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &authority.AuthorityDelegation{} },
		NewListFunc:               func() runtime.Object { return &authority.AuthorityDelegationList{} },
		DefaultQualifiedResource:  v1alpha1.Resource(delegationsPlural),
		SingularQualifiedResource: v1alpha1.Resource("authoritydelegation"),
		CreateStrategy:            s,
		UpdateStrategy:            s,
		DeleteStrategy:            s,
		ResetFieldsStrategy:       s,
		TableConvertor:            delegationTable,
		BeginCreate: func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
			err := d.Prepare(ctx, (*v1alpha1.AuthorityDelegation)(obj.(*authority.AuthorityDelegation)))
			return func(context.Context, bool) {}, err
		},
	}
	err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: jsonOptions{options}, AttrFunc: attributesOfDelegation})
	if err != nil {
		return delegationREST{}, err
	}
	store.Storage.Storage = notifyingStorage{store.Storage.Storage, func(obj runtime.Object, gone bool) {
		if one, ok := obj.(*authority.AuthorityDelegation); ok && one.UID != "" {
			d.Observe((*v1alpha1.AuthorityDelegation)(one), gone)
		}
	}}
	if d.SetStorage != nil {
		d.SetStorage(newDelegationStorage(store))
	}
	return delegationREST{resourceREST{store, "adel"}, d.WaitForCommits}, nil
}

// Create implements rest.Creater.
func (o delegationREST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	out, err := o.resourceREST.Create(ctx, obj, validate, options)
	if created, ok := out.(*authority.AuthorityDelegation); ok && err == nil && !dryrun.IsDryRun(options.DryRun) {
		audit.Delegated(ctx, created.Name, string(created.UID))
	}
	return out, err
}

// attributesOfDelegation returns what a delegation may be selected by.
func attributesOfDelegation(obj runtime.Object) (labels.Set, fields.Set, error) {
	d := obj.(*authority.AuthorityDelegation)
	selectable := generic.ObjectMetaFieldsSet(&d.ObjectMeta, false)
	selectable[authority.SelectDelegator] = d.Status.Delegator.Username
	if d.Status.Cause != nil {
		selectable[authority.SelectPolicy] = d.Status.Cause.Policy
	}
	for _, to := range d.Spec.Delegates {
		if to.Kind == v1alpha1.DelegateGroup {
			selectable[authority.ListElementField(authority.SelectDelegateGroup, to.Name)] = "true"
		} else {
			selectable[authority.ListElementField(authority.SelectDelegate, usernameOf(to))] = "true"
		}
	}
	return labels.Set(d.Labels), selectable, nil
}

// notifyingStorage is storage that tells of each change, whichever way it was made.
type notifyingStorage struct {
	storage.Interface
	notify func(obj runtime.Object, gone bool)
}

func (o notifyingStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	err := o.Interface.Create(ctx, key, obj, out, ttl)
	if err == nil {
		o.notify(out, false)
	}
	return err
}

func (o notifyingStorage) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	err := o.Interface.Delete(ctx, key, out, preconditions, validate, cached, options)
	if err == nil {
		o.notify(out, true)
	}
	return err
}

func (o notifyingStorage) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	err := o.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cached)
	if err == nil {
		o.notify(destination, false)
	}
	return err
}
