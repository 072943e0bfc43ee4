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

// toAnnotation names the namespace that a ConfigMap is to be copied into.
const toAnnotation = "copier.example.com/to"

// later is when a copy is tried again that was refused: somebody may be given the right
// without touching the ConfigMap.
const later = time.Minute

// copier copies ConfigMaps.
type copier struct {
	client client.Client
	events events.EventRecorder
	// authority returns what the copy of an object into a namespace is made by.
	authority func(source *corev1.ConfigMap, to string) *selection.SelectedAuthority
}

// fromNamespace returns the role by which whoever administers a namespace says that copies
// from another one are welcome: there is a role of that name, or there is not.
//
// Nothing of it may come from the author of the object alone, such as a name in an annotation:
// he would name what somebody else was given. The namespace of the object is what
// authorization has looked at when he wrote it. And it is a Role of the namespace that is
// written to, not one ClusterRole for each namespace of authors: roles with the same rules
// are the same to whoever has these rules, and the copier has what all authors were given.
func fromNamespace(source *corev1.ConfigMap, to string) *selection.SelectedAuthority {
	return selection.Role(to, "copier-from-"+source.Namespace)
}

// Reconcile makes the copy.
func (c *copier) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	source := &corev1.ConfigMap{}
	if err := c.client.Get(ctx, req.NamespacedName, source); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	to := source.Annotations[toAnnotation]
	if to == "" || to == source.Namespace || source.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	copied := applycorev1.ConfigMap(source.Name, to).WithData(source.Data).WithBinaryData(source.BinaryData)
	err := c.client.Apply(transport.With(ctx, c.authority(source, to)), copied, client.FieldOwner("copier"))
	var not *transport.NotAppliedError
	switch {
	case err == nil:
		return ctrl.Result{}, nil
	case apierrors.IsForbidden(err), apierrors.IsConflict(err), errors.As(err, &not):
		// Told where its author looks, by the controller's own authority: it must be possible
		// when nothing else is.
		c.events.Eventf(source, nil, corev1.EventTypeWarning, "NotCopied", "Copy", "%s", message(to, err))
		return ctrl.Result{RequeueAfter: later}, nil
	}
	return ctrl.Result{}, err
}

// message returns why there is no copy, as long as an event may be.
func message(to string, err error) string {
	text := fmt.Sprintf("not copied to %s: %v", to, err)
	const longest = 1000
	if len(text) > longest {
		text = text[:longest]
	}
	return text
}
