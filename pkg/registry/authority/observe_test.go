// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"

	"kube-granular.dev/pkg/apis/authority"
)

// storageWith is a storage whose writes all return one error.
type storageWith struct {
	storage.Interface
	err error
}

func (s storageWith) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return s.err
}

func (s storageWith) Delete(
	context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions,
) error {
	return s.err
}

func (s storageWith) GuaranteedUpdate(
	context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc, runtime.Object,
) error {
	return s.err
}

// TestObservedWrites holds that only a write that succeeds is reported, with an object of the kind that
// is stored, and that the error of each other write is passed on.
func TestObservedWrites(t *testing.T) {
	lost := errors.New("lost")
	a := attribute("a")
	a.UID = "u"
	d := delegationOf("a")
	d.UID = "u"
	for name, tc := range map[string]struct {
		obj  runtime.Object
		err  error
		want []string
	}{
		"stored":               {a, nil, []string{"a false", "a true", "a false"}},
		"not stored":           {a, lost, nil},
		"an object with no ID": {attribute("a"), nil, nil},
		"another kind":         {d, nil, nil},
	} {
		var seen []string
		store := &genericregistry.Store{}
		store.Storage.Storage = storageWith{err: tc.err}
		notify(store, func(a *authority.ProtectedAttribute, gone bool) {
			seen = append(seen, a.Name+map[bool]string{false: " false", true: " true"}[gone])
		})
		s, ctx := store.Storage.Storage, t.Context()
		for _, err := range []error{
			s.Create(ctx, "k", attribute("a"), tc.obj, 0),
			s.Delete(ctx, "k", tc.obj, nil, nil, nil, storage.DeleteOptions{}),
			s.GuaranteedUpdate(ctx, "k", tc.obj, false, nil, nil, nil),
		} {
			if !errors.Is(err, tc.err) {
				t.Errorf("%s: %v, want %v", name, err, tc.err)
			}
		}
		if !slices.Equal(seen, tc.want) {
			t.Errorf("%s: %q, want %q", name, seen, tc.want)
		}
	}
}

// failing is a store that can't be read.
type failing struct {
	rest.Lister
	rest.Watcher
	err error
}

func (f failing) List(context.Context, *metainternalversion.ListOptions) (runtime.Object, error) {
	return nil, f.err
}

func (f failing) Watch(context.Context, *metainternalversion.ListOptions) (watch.Interface, error) {
	return nil, f.err
}

// TestListWatchFails holds that code in this process learns of errors of the storage and of its own
// options.
func TestListWatchFails(t *testing.T) {
	for want, options := range map[string]metav1.ListOptions{"lost": {}, "list in process: ": {LabelSelector: "!"}} {
		source := listWatch(failing{err: errors.New("lost")})
		if _, err := source.ListWithContext(t.Context(), options); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q is listed: %v", options.LabelSelector, err)
		}
		if _, err := source.WatchWithContext(t.Context(), options); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q is watched: %v", options.LabelSelector, err)
		}
	}
}
