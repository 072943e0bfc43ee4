// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

var (
	_       granular.OperationGate = &Gate{}
	_       granular.Operation     = &binding{}
	bound                          = corev1.SchemeGroupVersion.WithKind("Binding")
	podKind                        = corev1.SchemeGroupVersion.WithKind("Pod")
)

// BeginOperation starts the verification of an operation: a create that stores no object of its
// own. It returns nil for every operation except a Binding, which assigns a pod to a node, because
// only a Binding writes labels and annotations: the server merges those of the Binding into those
// of the pod. It does so for the subresource pods/binding and for the resource bindings.
func (g *Gate) BeginOperation(ctx context.Context, target granular.Target) granular.Operation {
	if target.Kind != bound {
		return nil
	}
	target.Kind = podKind
	target.Resource.Resource = "pods"
	target.Subresource = "binding"
	labels, err := g.protect(ctx, target, &knownKind{}, false)
	switch {
	case err != nil:
		return refuseAll{err: err}
	case labels == nil:
		return nil
	}
	return &binding{guarded: guarded{labels: labels}}
}

// binding verifies the labels and annotations that one Binding merges into a pod.
type binding struct {
	guarded
	// labelled and annotated are the labels and annotations that the caller sent.
	labelled, annotated map[string]string
}

// Observe keeps the labels and annotations of the Binding that the caller sent. It is called
// before mutating admission, which can add others.
func (b *binding) Observe(_ context.Context, newObj, _ runtime.Object) error {
	accessor, err := meta.Accessor(newObj)
	if err != nil {
		return err
	}
	b.labelled, b.annotated = maps.Clone(accessor.GetLabels()), maps.Clone(accessor.GetAnnotations())
	return nil
}

// Verify accepts every Binding, because the Binding itself is not stored. Changed verifies the
// pod.
func (b *binding) Verify(context.Context, runtime.Object, runtime.Object) error { return nil }

// Changed verifies a pod that is about to be stored: newObj is the pod with the labels and
// annotations of the Binding merged into it, oldObj is the stored pod.
func (b *binding) Changed(ctx context.Context, newObj, oldObj runtime.Object) error {
	if len(b.labelled)+len(b.annotated) == 0 {
		return nil
	}
	sent := oldObj.DeepCopyObject()
	accessor, err := meta.Accessor(sent)
	if err != nil {
		return err
	}
	accessor.SetLabels(merged(accessor.GetLabels(), b.labelled))
	accessor.SetAnnotations(merged(accessor.GetAnnotations(), b.annotated))
	b.labels.observe(sent, oldObj)
	return b.labels.verify(ctx, nil, newObj, oldObj)
}

func merged(target, source map[string]string) map[string]string {
	if target == nil {
		target = map[string]string{}
	}
	maps.Copy(target, source)
	return target
}
