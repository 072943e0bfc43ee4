// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/audit"
)

// reduction reduces the answer to one request.
type reduction struct {
	answer granular.Answer
}

var _ granular.Reduction = &reduction{}

// Begin returns granular.ErrForbidden if the answer is not metadata or a table, or is that of a
// subresource. It returns a 400 if the selector has a field that does not belong to the metadata,
// because the result of a selection reveals the field's value.
func (r *reduction) Begin(ctx context.Context, answer granular.Answer) error {
	if answer.Subresource != "" || !answersAs(answer.Verb, answer.Convert) {
		return granular.ErrForbidden
	}
	if answer.Selector != nil {
		if err := checkSelector(answer.Selector); err != nil {
			return err
		}
	}
	r.answer = answer
	audit.MetadataOnly(ctx)
	return nil
}

func checkSelector(selector fields.Selector) error {
	for _, requirement := range selector.Requirements() {
		if requirement.Field != "metadata.name" && requirement.Field != "metadata.namespace" {
			return apierrors.NewBadRequest(fmt.Sprintf(
				"field selector %q: the verb %q allows to select by metadata.name and metadata.namespace only", requirement.Field, Verb))
		}
	}
	return nil
}

// Request implements granular.Reduction.
func (r *reduction) Request(req *http.Request) *http.Request {
	if r.answer.Convert.Kind != tableKind {
		return req
	}
	return withoutObjects(req)
}

// Reduce implements granular.Reduction. It fails if the result has no metadata.
func (r *reduction) Reduce(_ context.Context, result runtime.Object) (runtime.Object, error) {
	if r.answer.Verb == "list" {
		return reducedList(result)
	}
	return reducedObject(result)
}

// Watch implements granular.Reduction.
func (r *reduction) Watch(ctx context.Context, events watch.Interface) watch.Interface {
	return newReducedWatch(events, func(err error) *metav1.Status { return &r.hidden(ctx, err).ErrStatus })
}

// reducedObject returns the part of an object that may be read, as a new object without a cached
// encoding. It shares maps and lists with obj.
func reducedObject(obj runtime.Object) (*metav1.PartialObjectMetadata, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("object %T has no metadata: %w", obj, err)
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: reducedMetadata(accessor)}, nil
}

// reducedMetadata returns the fields of the metadata that may be read. Annotations and managed
// fields are left out as a whole. Lists are complete, because a client may write them back.
func reducedMetadata(m metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:                       m.GetName(),
		GenerateName:               m.GetGenerateName(),
		Namespace:                  m.GetNamespace(),
		UID:                        m.GetUID(),
		ResourceVersion:            m.GetResourceVersion(),
		Generation:                 m.GetGeneration(),
		CreationTimestamp:          m.GetCreationTimestamp(),
		DeletionTimestamp:          m.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: m.GetDeletionGracePeriodSeconds(),
		Labels:                     m.GetLabels(),
		OwnerReferences:            m.GetOwnerReferences(),
		Finalizers:                 m.GetFinalizers(),
	}
}

func reducedList(list runtime.Object) (*metav1.PartialObjectMetadataList, error) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("%T is no list: %w", list, err)
	}
	out := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{
		ResourceVersion:    accessor.GetResourceVersion(),
		Continue:           accessor.GetContinue(),
		RemainingItemCount: accessor.GetRemainingItemCount(),
	}}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		reduced, err := reducedObject(item)
		if err == nil {
			out.Items = append(out.Items, *reduced)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
