// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

const expirationPath = delegationsPlural + "/expiration"

// expirationREST is the endpoint by which a delegator ends its own delegations, or makes them end
// earlier. Of what a client sends, only spec.expirationTimestamp counts. Except for Update, it is like the
// endpoint of a status.
type expirationREST struct {
	statusREST
	waitForCommits func()
	confirmOwn     func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
}

// Update implements rest.Updater. It never creates an object. Like the endpoint of the kind, it
// returns only after every write that the old version of the delegation allowed is stored or has
// failed.
func (r expirationREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc,
	_ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	defer r.waitForCommits()
	return r.store.Update(ctx, name, ownObjectInfo{info, r.confirmOwn}, create, update, false, options)
}

// ownObjectInfo applies an update only to a delegation of the caller. It checks that before anything
// of the update is applied: whether a patch can be applied reveals content of the delegation.
type ownObjectInfo struct {
	rest.UpdatedObjectInfo
	confirmOwn func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (o ownObjectInfo) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	// The store passes an empty object if it has none. Then it returns a NotFound error later.
	if d, ok := old.(*authority.AuthorityDelegation); ok && d.UID != "" {
		if err := o.confirmOwn(ctx, (*v1alpha1.AuthorityDelegation)(d)); err != nil {
			return nil, err
		}
	}
	return o.UpdatedObjectInfo.UpdatedObject(ctx, old)
}

// expirationStrategy implements the strategy of expirationREST.
type expirationStrategy struct{ delegationStrategy }

// GetResetFields returns the fields that the endpoint does not write.
func (expirationStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	all := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	for _, name := range []string{"delegates", "roleRef", "rules", "scope", "objectUIDs", "conditions", "ifLost", "idleSeconds"} {
		all.Insert(fieldpath.MakePathOrDie("spec", name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): all}
}

// PrepareForUpdate takes only the expiration time from the client.
func (s expirationStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	d, stored := obj.(*authority.AuthorityDelegation), old.(*authority.AuthorityDelegation)
	until := d.Spec.ExpirationTimestamp
	d.Spec = *stored.Spec.DeepCopy()
	d.Spec.ExpirationTimestamp = until
	metav1.ResetObjectMetaForStatus(d, stored)
	d.GenerateName = stored.GenerateName // which may change in an update
	s.delegationStrategy.PrepareForUpdate(ctx, obj, old)
}
