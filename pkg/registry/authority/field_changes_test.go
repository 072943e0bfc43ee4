// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// TestFieldPermissionResults holds that each request returns the result and the error of the storage,
// that what admission denies is not stored, and that a request is told of only if it changed something.
func TestFieldPermissionResults(t *testing.T) {
	const name = "widgets.example.com"
	denied, unprepared := errors.New("denied"), errors.New("not prepared")
	var refusal error
	told := 0
	store, _ := openFields(t, &FieldPermissions{
		Prepare: func(context.Context, *v1alpha1.FieldPermission, *v1alpha1.FieldPermission) error { return refusal },
		Changed: func(context.Context, []FieldChange, bool) { told++ },
		Observe: func(*v1alpha1.FieldPermission, bool) {},
	})
	ctx := as("jane")
	ended, end := context.WithCancel(ctx)
	end()
	allow, allowUpdate := rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc
	deny := func(context.Context, runtime.Object) error { return denied }
	denyUpdate := func(context.Context, runtime.Object, runtime.Object) error { return denied }
	create := func(validate rest.ValidateObjectFunc) (bool, error) {
		_, err := store.Create(ctx, fieldsOf(name), validate, &metav1.CreateOptions{})
		return false, err
	}
	update := func(validate rest.ValidateObjectUpdateFunc, force bool, f func(*authority.FieldPermission)) (bool, error) {
		info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			next := old.DeepCopyObject().(*authority.FieldPermission)
			if next.UID == "" {
				next = fieldsOf(name)
			}
			f(next)
			return next, nil
		})
		_, created, err := store.Update(ctx, name, info, allow, validate, force, &metav1.UpdateOptions{})
		return created, err
	}
	remove := func(validate rest.ValidateObjectFunc) (bool, error) {
		_, now, err := store.Delete(ctx, name, validate, &metav1.DeleteOptions{})
		return now, err
	}
	removeAll := func(ctx context.Context, validate rest.ValidateObjectFunc) (bool, error) {
		_, err := store.DeleteCollection(ctx, validate, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{})
		return false, err
	}
	enforce := func(p *authority.FieldPermission) { p.Spec.Mode = v1alpha1.ModeEnforce }
	label := func(p *authority.FieldPermission) { p.Labels = map[string]string{"a": "b"} }
	wait := func(p *authority.FieldPermission) { p.Finalizers = []string{"example.com/wait"} }
	none := func(err error) bool { return err == nil }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for _, step := range []struct {
		name    string
		request func() (bool, error)
		refusal error
		result  bool
		err     func(error) bool
		told    int
	}{
		{"a creation that is denied", func() (bool, error) { return create(deny) }, nil, false, is(denied), 0},
		{"an update of nothing", func() (bool, error) { return update(allowUpdate, false, enforce) }, nil, false, apierrors.IsNotFound, 0},
		{"a deletion of nothing", func() (bool, error) { return remove(allow) }, nil, false, apierrors.IsNotFound, 0},
		{"a creation by an update", func() (bool, error) { return update(allowUpdate, true, label) }, nil, true, none, 1},
		{"a second creation", func() (bool, error) { return create(allow) }, nil, false, apierrors.IsAlreadyExists, 0},
		{"an update of metadata", func() (bool, error) { return update(allowUpdate, false, wait) }, nil, false, none, 0},
		{"an update that is denied", func() (bool, error) { return update(denyUpdate, false, enforce) }, nil, false, is(denied), 0},
		{"an update not prepared", func() (bool, error) { return update(allowUpdate, false, enforce) }, unprepared, false, is(unprepared), 0},
		{"an update", func() (bool, error) { return update(allowUpdate, false, enforce) }, nil, false, none, 1},
		{"a deletion that is denied", func() (bool, error) { return remove(deny) }, nil, false, is(denied), 0},
		{"a deletion of all that is denied", func() (bool, error) { return removeAll(ctx, deny) }, nil, false, is(denied), 0},
		{"a deletion of all after the end", func() (bool, error) { return removeAll(ended, allow) }, nil, false, is(context.Canceled), 0},
		{"a deletion that waits", func() (bool, error) { return remove(allow) }, nil, false, none, 1},
	} {
		refusal, told = step.refusal, 0
		if result, err := step.request(); result != step.result || !step.err(err) || told != step.told {
			t.Errorf("%s: %t, error %v, told of %d times", step.name, result, err, told)
		}
	}
}

// TestFieldChangesInOrder holds that the last change of each object is kept, in the order of the names,
// and that another one can be noted later.
func TestFieldChangesInOrder(t *testing.T) {
	noted := fieldChanges{}
	for i, name := range []string{"b", "a", "b"} {
		noted.note(name, FieldChange{After: &v1alpha1.FieldPermission{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: int64(i)}}})
	}
	var got []string
	for _, change := range noted.sorted() {
		got = append(got, change.After.Name)
	}
	if !slices.Equal(got, []string{"a", "b"}) || noted.all["b"].After.Generation != 2 {
		t.Errorf("changed %v, %+v", got, noted.all)
	}
	if !noted.lock.TryLock() {
		t.Error("no change can be noted any more")
	}
}
