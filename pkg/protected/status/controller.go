// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/protected"
	"kube-granular.dev/pkg/rounds"
)

// LeaseName is the name of the Lease whose holder is the server that writes the statuses.
const LeaseName = "kube-granular-protected-attributes"

// Source is the state of the protected attributes on one server. *protected.Protection
// implements it.
type Source interface {
	Attributes() []protected.Attribute
	Changes() <-chan struct{}
	Roles() *protected.Roles
	Violations(namespace, attribute string) int64
	SubtractViolations(namespace, attribute string, n int64)
	PruneViolations()
}

// Controller writes the statuses of protected attributes.
type Controller struct {
	source Source
	client versioned.Interface
}

// New returns the controller of one server.
func New(known Source, client versioned.Interface) *Controller {
	return &Controller{source: known, client: client}
}

// Start starts a goroutine that runs the controller until ctx ends. self is the configuration with
// which the server is a client of itself.
func Start(ctx context.Context, known Source, self *rest.Config) error {
	// The loopback configuration uses protobuf, which these types do not support.
	ours := rest.CopyConfig(self)
	ours.ContentType, ours.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := versioned.NewForConfig(ours)
	if err != nil {
		return fmt.Errorf("make a client for protected attributes: %w", err)
	}
	leases, err := kubernetes.NewForConfig(self)
	if err != nil {
		return fmt.Errorf("make a client for leases: %w", err)
	}
	go func() {
		if err := New(known, client).Run(ctx, leases); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The status controller of protected attributes stopped")
		}
	}()
	return nil
}

// Run writes statuses until ctx ends. While this server does not hold the Lease, Run only adds the
// violations that this server has counted.
func (c *Controller) Run(ctx context.Context, leases kubernetes.Interface) error {
	return rounds.Loop{Lease: LeaseName, Changes: c.source.Changes(), Round: c.writeAll}.Run(ctx, leases)
}

// writeAll writes every status that is out of date, and reports whether all writes succeeded. If
// leads is false, it only adds the violations that this server has counted.
func (c *Controller) writeAll(ctx context.Context, leads bool) bool {
	c.source.PruneViolations()
	well := true
	for _, a := range c.source.Attributes() {
		if err := c.write(ctx, a, leads); err != nil && ctx.Err() == nil {
			well = false
			// The errors Conflict and NotFound are not reported: the attribute was changed or
			// deleted meanwhile.
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "The status of a protected attribute was not written",
					"namespace", a.GetNamespace(), "name", a.GetName())
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

// update writes a status. The write fails if the attribute has changed since it was read.
func (c *Controller) update(ctx context.Context, a authority.Attribute, status *v1alpha1.ProtectedAttributeStatus) (err error) {
	client := c.client.AuthorityV1alpha1()
	switch attribute := a.(type) {
	case *authority.ProtectedAttribute:
		out := (*v1alpha1.ProtectedAttribute)(attribute).DeepCopy()
		out.Status = *status
		_, err = client.ProtectedAttributes(out.Namespace).UpdateStatus(ctx, out, metav1.UpdateOptions{})
	case *authority.ClusterProtectedAttribute:
		out := (*v1alpha1.ClusterProtectedAttribute)(attribute).DeepCopy()
		out.Status = *status
		_, err = client.ClusterProtectedAttributes().UpdateStatus(ctx, out, metav1.UpdateOptions{})
	}
	return err
}
