// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package patches

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
)

// stores is a storage that counts the writes that reach it.
type stores struct {
	storage.Interface
	writes int
}

func (s *stores) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	s.writes++
	return nil
}

func (s *stores) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions) error {
	s.writes++
	return nil
}

func (s *stores) GuaranteedUpdate(_ context.Context, _ string, _ runtime.Object, _ bool, _ *storage.Preconditions, try storage.UpdateFunc, _ runtime.Object) error {
	if _, _, err := try(pod(), storage.ResponseMeta{}); err != nil {
		return err
	}
	s.writes++
	return nil
}

func pod() *corev1.Pod {
	p := &corev1.Pod{}
	p.UID = types.UID("1")
	return p
}

// TestStorageGuard checks the last line of defence: for a granular request, the storage accepts
// a write or a deletion only if it was verified right before, and only once.
func TestStorageGuard(t *testing.T) {
	errFinalizers := errors.New("emptied finalizers")
	update := func(verify bool, result error) func(ctx context.Context, s *registry.DryRunnableStorage) error {
		return func(ctx context.Context, s *registry.DryRunnableStorage) error {
			return s.GuaranteedUpdate(ctx, "k", pod(), false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
				if m := granular.MarkerFrom(ctx); verify && m != nil {
					m.SetVerified()
				}
				return in, nil, result
			}, false, nil)
		}
	}
	create := func(ctx context.Context, s *registry.DryRunnableStorage) error {
		return s.Create(ctx, "k", pod(), pod(), 0, false)
	}
	remove := func(ctx context.Context, s *registry.DryRunnableStorage) error {
		return s.Delete(ctx, "k", pod(), nil, nil, false, nil, storage.DeleteOptions{})
	}
	verify := func(ctx context.Context, _ *registry.DryRunnableStorage) error {
		if m := granular.MarkerFrom(ctx); m != nil {
			m.SetVerified()
		}
		return nil
	}
	type step = func(context.Context, *registry.DryRunnableStorage) error
	tests := map[string]struct {
		unmarked bool
		steps    []step
		writes   int
		refused  bool
	}{
		"unmarked requests are not looked at": {unmarked: true,
			steps: []step{create, update(false, nil), remove}, writes: 3},
		"create, not verified": {steps: []step{create}, refused: true},
		"create, verified":     {steps: []step{verify, create}, writes: 1},
		"a second create needs a second verification": {steps: []step{verify, create, create}, writes: 1,
			refused: true},
		"update, not verified":                        {steps: []step{update(false, nil)}, refused: true},
		"update, verified":                            {steps: []step{update(true, nil)}, writes: 1},
		"update, verified in an earlier attempt only": {steps: []step{verify, update(false, nil)}, refused: true},
		"delete, not verified":                        {steps: []step{remove}, refused: true},
		"delete behind a verified update":             {steps: []step{update(true, errFinalizers), remove}, writes: 1},
		"delete behind an update not verified": {steps: []step{update(false, errFinalizers), remove},
			refused: true},
		"delete behind an update that was stored": {steps: []step{update(true, nil), remove}, writes: 1,
			refused: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			if !tc.unmarked {
				ctx, _ = granular.WithMarker(ctx)
			}
			store := &stores{}
			guarded := &registry.DryRunnableStorage{Storage: store}
			var last error
			for _, step := range tc.steps {
				if last = step(ctx, guarded); errors.Is(last, errFinalizers) {
					last = nil
				}
			}
			if (last != nil) != tc.refused {
				t.Errorf("the last step gave %v, wanted a refusal: %t", last, tc.refused)
			}
			if store.writes != tc.writes {
				t.Errorf("%d writes reached the storage, wanted %d", store.writes, tc.writes)
			}
		})
	}
}

func (s *stores) Get(context.Context, string, storage.GetOptions, runtime.Object) error { return nil }

func (s *stores) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	return nil
}

func (s *stores) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return nil, nil
}

// reductions is a Reduction that begins with an error, or nil.
type reductions struct {
	granular.Reduction
	err error
}

func (r reductions) Begin(context.Context, granular.Answer) error { return r.err }

// TestReadGuard checks that the storage is read for a caller who may read metadata alone only after a
// handler has begun to reduce the answer, and never written.
func TestReadGuard(t *testing.T) {
	guarded := &registry.DryRunnableStorage{Storage: &stores{}}
	read := func(ctx context.Context) (failed int) {
		_, err := guarded.Watch(ctx, "k", storage.ListOptions{})
		for _, err := range []error{err, guarded.Get(ctx, "k", storage.GetOptions{}, pod()), guarded.GetList(ctx, "k", storage.ListOptions{}, pod())} {
			if err != nil {
				failed++
			}
		}
		return failed
	}
	if n := read(context.Background()); n != 0 {
		t.Errorf("%d reads of others fail", n)
	}
	for err, want := range map[error]int{nil: 0, granular.ErrForbidden: 3} {
		ctx := granular.WithMetadataRead(context.Background(), reductions{err: err}, nil)
		if n := read(ctx); n != 3 {
			t.Errorf("%d of 3 reads fail before the handler begins", n)
		}
		if got := granular.MetadataReadFrom(ctx).Begin(ctx, granular.Answer{}); got != err {
			t.Error(got)
		}
		if n := read(ctx); n != want {
			t.Errorf("%d reads fail after the handler began with %v, wanted %d", n, err, want)
		}
		if guarded.Create(ctx, "k", pod(), pod(), 0, false) == nil {
			t.Error("the read writes")
		}
		if granular.Refuse(ctx, schema.GroupResource{}, "") == nil {
			t.Error("a connection is made")
		}
	}
}
