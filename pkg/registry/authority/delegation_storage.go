// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storageerrors "k8s.io/apiserver/pkg/storage/errors"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// detached is the context.Context of a request without the values in it, such as the user. It is
// for the server's own reads and writes during the request, which must not be verified as if the
// caller had requested them.
type detached struct{ context.Context }

// Value implements context.Context.
func (detached) Value(any) any { return nil }

// newDelegationStorage returns the functions with which the server itself reads and writes
// delegations.
func newDelegationStorage(store *genericregistry.Store) *DelegationStorage {
	resource := v1alpha1.Resource(delegationsPlural)
	update := func(ctx context.Context, name string, preconditions *storage.Preconditions,
		change func(*v1alpha1.AuthorityDelegationStatus)) error {
		key, err := store.KeyFunc(detached{ctx}, name)
		if err != nil {
			return err
		}
		err = store.Storage.GuaranteedUpdate(detached{ctx}, key, &authority.AuthorityDelegation{}, false, preconditions,
			storage.SimpleUpdate(func(obj runtime.Object) (runtime.Object, error) {
				change(&obj.(*authority.AuthorityDelegation).Status)
				return obj, nil
			}), false, nil)
		return storageerrors.InterpretUpdateError(err, resource, name)
	}
	return &DelegationStorage{
		ListWatch: listWatch(store),
		Get: func(ctx context.Context, name string) (*v1alpha1.AuthorityDelegation, error) {
			obj, err := store.Get(detached{ctx}, name, &metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return (*v1alpha1.AuthorityDelegation)(obj.(*authority.AuthorityDelegation)), nil
		},
		WriteUse: func(ctx context.Context, name string, moment time.Time) error {
			used := metav1.NewTime(moment)
			return update(ctx, name, nil, func(status *v1alpha1.AuthorityDelegationStatus) {
				if last := status.LastUsed; last == nil || last.Before(&used) {
					status.LastUsed = &used
				}
			})
		},
		Create: func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
			obj, out := (*authority.AuthorityDelegation)(d.DeepCopy()), &authority.AuthorityDelegation{}
			rest.FillObjectMetaSystemFields(obj)
			obj.Generation = 1
			key, err := store.KeyFunc(detached{ctx}, obj.Name)
			if err != nil {
				return nil, err
			}
			if err := store.Storage.Create(detached{ctx}, key, obj, out, 0, false); err != nil {
				return nil, storageerrors.InterpretCreateError(err, resource, obj.Name)
			}
			return (*v1alpha1.AuthorityDelegation)(out), nil
		},
		Renew: func(ctx context.Context, d *v1alpha1.AuthorityDelegation, moment time.Time) error {
			renewed := metav1.NewTime(moment)
			return update(ctx, d.Name, &storage.Preconditions{UID: &d.UID}, func(status *v1alpha1.AuthorityDelegationStatus) {
				if status.Cause != nil && (status.Cause.Renewed == nil || status.Cause.Renewed.Before(&renewed)) {
					status.Cause.Renewed = &renewed
				}
			})
		},
		DeleteUnchanged: func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error {
			_, _, err := store.Delete(detached{ctx}, d.Name, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{
				Preconditions: &metav1.Preconditions{UID: &d.UID, ResourceVersion: &d.ResourceVersion},
			})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		},
	}
}
