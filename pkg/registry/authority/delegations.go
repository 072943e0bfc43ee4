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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/audit"
)

// Delegations configures the storage of AuthorityDelegations.
type Delegations struct {
	// Prepare fills in the status of a delegation that is about to be created, or returns an
	// error that refuses it.
	Prepare func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
	// Observe is called with every delegation that this server stored or removed, before the
	// server answers the request. gone is true if the delegation was removed.
	Observe func(d *v1alpha1.AuthorityDelegation, gone bool)
	// WaitForCommits is called after Observe, before an update or deletion is answered. It waits
	// until every write that the old version allowed is stored or has failed.
	WaitForCommits func()
	// ConfirmOwn returns an error unless the caller of a request created a delegation.
	ConfirmOwn func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
	// Problems returns why a stored delegation allows less than its rules say, for its status.
	Problems func(d *v1alpha1.AuthorityDelegation) []string
	// Bound returns the user name of the service account that is bound to the delegation with a UID, or
	// "" if none is.
	Bound func(uid types.UID) string
}

// DelegationStorage lets the server itself read and write delegations.
type DelegationStorage struct {
	// ListWatch lists and watches all delegations, as Kind.ListWatch does.
	ListWatch *cache.ListWatch
	// Get reads a delegation from storage.
	Get func(ctx context.Context, name string) (*v1alpha1.AuthorityDelegation, error)
	// WriteUse stores when a delegation was last used.
	WriteUse func(ctx context.Context, name string, moment time.Time) error
	// Create stores a delegation that a policy issues, including its status.
	Create func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error)
	// Renew stores when a delegation that a policy issued was last given to an object. It fails
	// if the delegation was deleted, even if another one of the same name exists.
	Renew func(ctx context.Context, d *v1alpha1.AuthorityDelegation, moment time.Time) error
	// DeleteUnchanged deletes a delegation. It fails if the delegation has changed since it was
	// read.
	DeleteUnchanged func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
}

const delegationsPlural = "authoritydelegations"

// delegationREST is the endpoint of AuthorityDelegations. There is no endpoint for their status,
// because only the server writes it. expirationREST is the endpoint by which a delegator ends its own
// delegations.
type delegationREST struct {
	resourceREST
	waitForCommits func()
}

var _ rest.StandardStorage = delegationREST{}

// Update implements rest.Updater. It returns only after every write that the old version of the
// delegation allowed is stored or has failed.
func (o delegationREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	forceAllowCreate bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	defer o.waitForCommits()
	return o.resourceREST.Update(ctx, name, info, create, update, forceAllowCreate, options)
}

// Delete implements rest.GracefulDeleter. Like Update, it waits until every write that the
// delegation allowed is stored or has failed.
func (o delegationREST) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	defer o.waitForCommits()
	return o.resourceREST.Delete(ctx, name, validate, options)
}

// DeleteCollection implements rest.CollectionDeleter. Like Update, it waits until every write
// that the delegations allowed is stored or has failed.
func (o delegationREST) DeleteCollection(
	ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, list *metainternalversion.ListOptions,
) (runtime.Object, error) {
	defer o.waitForCommits()
	return o.resourceREST.DeleteCollection(ctx, validate, options, list)
}

func newDelegations(options generic.RESTOptionsGetter, d *Delegations) (delegationREST, expirationREST, *DelegationStorage, error) {
	k := kind{
		delegationsPlural, "authoritydelegation", "adel", validation.Cluster,
		func() runtime.Object { return &authority.AuthorityDelegation{} },
		func() runtime.Object { return &authority.AuthorityDelegationList{} },
	}
	s := delegationStrategy{k.strategy()}
	store := k.store(s, delegationTable(d.Bound))
	store.BeginCreate = func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		err := d.Prepare(ctx, (*v1alpha1.AuthorityDelegation)(obj.(*authority.AuthorityDelegation)))
		return func(context.Context, bool) {}, err
	}
	store.Decorator = showProblems(d.Problems)
	err := store.CompleteWithOptions(&generic.StoreOptions{RESTOptions: jsonOptions{options}, AttrFunc: attributesOfDelegation})
	if err != nil {
		return delegationREST{}, expirationREST{}, nil, err
	}
	notify(store, func(changed *authority.AuthorityDelegation, gone bool) {
		d.Observe((*v1alpha1.AuthorityDelegation)(changed), gone)
	})
	expiration := *store
	expiration.UpdateStrategy, expiration.ResetFieldsStrategy = expirationStrategy{s}, expirationStrategy{s}
	served := delegationREST{resourceREST{store, k.short}, d.WaitForCommits}
	return served, expirationREST{statusREST{&expiration}, d.WaitForCommits, d.ConfirmOwn}, newDelegationStorage(store), nil
}

// showProblems returns a decorator that sets the problems in the status of delegations that are
// returned to clients. It gets copies, which no other request sees. It leaves out the events of a
// watch that are encoded once for several watchers.
func showProblems(problems func(*v1alpha1.AuthorityDelegation) []string) func(runtime.Object) {
	show := func(d *authority.AuthorityDelegation) {
		d.Status.Problems = problems((*v1alpha1.AuthorityDelegation)(d))
	}
	return func(obj runtime.Object) {
		switch obj := obj.(type) {
		case *authority.AuthorityDelegation:
			show(obj)
		case *authority.AuthorityDelegationList:
			for i := range obj.Items {
				show(&obj.Items[i])
			}
		}
	}
}

// Create implements rest.Creater.
func (o delegationREST) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	out, err := o.resourceREST.Create(ctx, obj, validate, options)
	if created, ok := out.(*authority.AuthorityDelegation); ok && err == nil && !dryrun.IsDryRun(options.DryRun) {
		audit.Delegated(ctx, created.Name, string(created.UID))
	}
	return out, err
}

// attributesOfDelegation returns the labels and selectable fields of a delegation.
func attributesOfDelegation(obj runtime.Object) (labels.Set, fields.Set, error) {
	d := obj.(*authority.AuthorityDelegation)
	selectable := generic.ObjectMetaFieldsSet(&d.ObjectMeta, false)
	selectable[authority.SelectDelegator] = d.Status.Delegator.Username
	if d.Status.Cause != nil {
		selectable[authority.SelectPolicy] = d.Status.Cause.Policy
	}
	for _, delegate := range d.Spec.Delegates {
		if delegate.Kind == v1alpha1.DelegateGroup {
			selectable[authority.ListElementField(authority.SelectDelegateGroup, delegate.Name)] = "true"
		} else {
			selectable[authority.ListElementField(authority.SelectDelegate, usernameOf(delegate))] = "true"
		}
	}
	return labels.Set(d.Labels), selectable, nil
}
