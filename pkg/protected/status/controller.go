// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/protected"
)

// LeaseName is the name of the lease that the server holds that writes statuses.
const LeaseName = "kube-granular-protected-attributes"

const (
	// minInterval is how long it takes at least from one round to the next.
	minInterval = time.Second
	// countInterval is how long it takes from one look at what was counted to the next.
	countInterval = 10 * time.Second
)

// Source is what the server knows. *protected.Protection implements it.
type Source interface {
	Attributes() []protected.Attribute
	Changes() <-chan struct{}
	Roles() *protected.Roles
	Violations(namespace, of string) int64
	SubtractViolations(namespace, of string, n int64)
	PruneViolations()
}

// Controller writes statuses.
type Controller struct {
	source Source
	client versioned.Interface
	// isLeader reports whether this server writes more than what it counted.
	isLeader atomic.Bool
}

// New returns the controller of one server.
func New(known Source, client versioned.Interface) *Controller {
	return &Controller{source: known, client: client}
}

// Start starts the controller of a server that reaches itself by a configuration.
func Start(ctx context.Context, known Source, self *rest.Config) error {
	// A server reaches itself by protobuf, which our types don't have.
	ours := rest.CopyConfig(self)
	ours.ContentType, ours.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := versioned.NewForConfig(ours)
	if err != nil {
		return fmt.Errorf("reach protected attributes: %w", err)
	}
	leases, err := kubernetes.NewForConfig(self)
	if err != nil {
		return fmt.Errorf("reach leases: %w", err)
	}
	go func() {
		if err := New(known, client).Run(ctx, leases); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Nobody writes statuses of protected attributes")
		}
	}()
	return nil
}

// Run writes statuses until ctx ends. Until it holds the lease it adds what it counted alone.
func (c *Controller) Run(ctx context.Context, leases kubernetes.Interface) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name the holder of a lease: %w", err)
	}
	woken := make(chan struct{}, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: LeaseName},
			Client:     leases.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: 30 * time.Second, RenewDeadline: 20 * time.Second, RetryPeriod: 5 * time.Second,
		ReleaseOnCancel: true, Name: LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				c.isLeader.Store(true)
				select {
				case woken <- struct{}{}:
				default:
				}
			},
			OnStoppedLeading: func() { c.isLeader.Store(false) },
		},
	})
	if err != nil {
		return fmt.Errorf("elect who writes statuses: %w", err)
	}
	go func() {
		for ctx.Err() == nil {
			elector.Run(ctx)
		}
	}()
	for {
		changed := false
		select {
		case <-ctx.Done():
			return nil
		case <-c.source.Changes():
			changed = true
		case <-woken:
			changed = true
		case <-time.After(countInterval):
		}
		for !c.writeAll(ctx, changed && c.isLeader.Load()) {
			changed = true
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(minInterval):
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(minInterval):
		}
	}
}

// writeAll writes each status that should be another, and reports whether that went well. Where
// it does not lead it adds what it counted, and writes nothing else.
func (c *Controller) writeAll(ctx context.Context, leads bool) bool {
	c.source.PruneViolations()
	well := true
	for _, a := range c.source.Attributes() {
		if err := c.write(ctx, a, leads); err != nil && ctx.Err() == nil {
			well = false
			// What is known here is not the newest yet, or it is gone.
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "A protected attribute has an old status", "namespace", a.GetNamespace(), "name", a.GetName())
			}
		}
	}
	return well
}

func (c *Controller) write(ctx context.Context, a protected.Attribute, leads bool) error {
	_, _, old := a.Parts()
	status := old.DeepCopy()
	if leads {
		var err error
		if status, err = Compute(a, c.source.Roles()); err != nil {
			return err
		}
	}
	counted := c.source.Violations(a.GetNamespace(), a.GetName())
	status.AuditViolations += counted
	if equality.Semantic.DeepEqual(status, old) {
		return nil
	}
	if err := c.update(ctx, a.Attribute, status); err != nil {
		return err
	}
	c.source.SubtractViolations(a.GetNamespace(), a.GetName(), counted)
	return nil
}

// update writes a status over the version that is known, and over no other.
func (c *Controller) update(ctx context.Context, a authority.Attribute, status *v1alpha1.ProtectedAttributeStatus) (err error) {
	client := c.client.AuthorityV1alpha1()
	switch of := a.(type) {
	case *authority.ProtectedAttribute:
		out := (*v1alpha1.ProtectedAttribute)(of).DeepCopy()
		out.Status = *status
		_, err = client.ProtectedAttributes(out.Namespace).UpdateStatus(ctx, out, metav1.UpdateOptions{})
	case *authority.ClusterProtectedAttribute:
		out := (*v1alpha1.ClusterProtectedAttribute)(of).DeepCopy()
		out.Status = *status
		_, err = client.ClusterProtectedAttributes().UpdateStatus(ctx, out, metav1.UpdateOptions{})
	}
	return err
}
