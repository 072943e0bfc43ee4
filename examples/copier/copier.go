// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
)

// toAnnotation is the annotation of a ConfigMap whose value is the namespace to copy it into.
const toAnnotation = "copier.example.com/to"

// later is the delay before a refused copy is tried again. A retry is needed because an
// administrator may grant the permission without any change of the ConfigMap.
const later = time.Minute

// copier copies ConfigMaps.
type copier struct {
	client client.Client
	events events.EventRecorder
	// authority returns the role or delegation that the copier selects to copy an object into a
	// namespace.
	authority func(source *corev1.ConfigMap, namespace string) *selection.SelectedAuthority
}

// fromNamespace returns the Role copier-from-NAMESPACE in the target namespace, where NAMESPACE is
// the namespace of the source. The administrator of the target namespace allows copies from a
// namespace by creating that Role and binding it to the copier.
//
// The author of the object must not be able to choose the role freely, for example by a role name
// in an annotation: the author could choose a role that was granted to the copier for somebody
// else. The namespace of the object is safe, because the author was authorized to write there.
//
// The selected authority must be a Role in the target namespace, not a ClusterRole for each source
// namespace. A caller may select a role without a binding if it holds the same rules by other
// roles. So if several such ClusterRoles had the same rules, a binding of one of them would let
// the copier select each of them. A Role in the target namespace exists only if somebody with
// permissions there created it.
func fromNamespace(source *corev1.ConfigMap, namespace string) *selection.SelectedAuthority {
	return selection.Role(namespace, "copier-from-"+source.Namespace)
}

// Reconcile copies the ConfigMap of a request into the namespace that the annotation of the
// ConfigMap names.
func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	source := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, req.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	namespace := source.Annotations[toAnnotation]
	if namespace == "" || namespace == source.Namespace || source.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	copied := applycorev1.ConfigMap(source.Name, namespace).WithData(source.Data).WithBinaryData(source.BinaryData)
	err := c.client.Apply(transport.With(ctx, c.authority(source, namespace)), copied, client.FieldOwner("copier"))
	var not *transport.NotAppliedError
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case apierrors.IsForbidden(err), apierrors.IsConflict(err), errors.As(err, &not):
		// An event tells the author of the ConfigMap why there is no copy. The controller writes
		// the event with its own authority, because the selected role possibly does not exist or
		// does not allow events.
		c.events.Eventf(source, nil, corev1.EventTypeWarning, "NotCopied", "Copy", "%s", message(namespace, err))
		return ctrl.Result{RequeueAfter: later}, nil
	}
	return ctrl.Result{}, err
}

// message returns why there is no copy, truncated to the length limit of events.
func message(namespace string, err error) string {
	text := fmt.Sprintf("not copied to %s: %v", namespace, err)
	const longest = 1000
	if len(text) > longest {
		text = text[:longest]
	}
	return text
}
