// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/api/client/clientset/versioned"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/fieldpermission"
	"kube-granular.dev/pkg/rounds"
)

// LeaseName is the name of the Lease whose holder is the server that writes the statuses.
const LeaseName = "kube-granular-field-permissions"

// Config is what a Controller needs.
type Config struct {
	Index *fieldpermission.Index
	// Resources finds built-in resources. The controller reads definitions of custom resources in its own way.
	Resources *fieldpermission.Resources
	// Roles is nil if the server serves no roles. Then the statuses name no holders.
	Roles *fieldpermission.Roles
}

// Controller writes the statuses of FieldPermissions.
type Controller struct {
	Config
	client      versioned.Interface
	definitions *definitions
	// known has what was found out last about each FieldPermission. Only one goroutine uses it.
	known map[string]knownState
}

// knownState is the state of a resource with entries. The state is the same as long as both are.
type knownState struct {
	entries *overlay.Entries
	State
}

// Start starts a goroutine that runs the controller until ctx ends. self is the configuration with which the
// server is a client of itself.
func Start(ctx context.Context, config Config, self *rest.Config) error {
	// The loopback configuration uses protobuf, which these types do not support.
	ours := rest.CopyConfig(self)
	ours.ContentType, ours.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	client, err := versioned.NewForConfig(ours)
	if err != nil {
		return fmt.Errorf("make a client for FieldPermissions: %w", err)
	}
	leases, err := kubernetes.NewForConfig(self)
	if err != nil {
		return fmt.Errorf("make a client for leases: %w", err)
	}
	read, err := watchDefinitions(ctx, self, config.Index)
	if err != nil {
		return err
	}
	c := &Controller{Config: config, client: client, definitions: read, known: map[string]knownState{}}
	go func() {
		if config.Roles != nil && !config.Roles.WaitForSync(ctx.Done()) || !read.waitForSync(ctx.Done()) {
			return
		}
		loop := rounds.Loop{Lease: LeaseName, Changes: config.Index.Changes(), Round: c.round}
		if err := loop.Run(ctx, leases); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The status controller of FieldPermissions stopped")
		}
	}()
	return nil
}

// round writes every status that is out of date, and reports whether all writes succeeded. If leads is false,
// it only adds the requests that this server has counted.
func (c *Controller) round(ctx context.Context, leads bool) bool {
	c.Index.PruneViolations()
	all := c.Index.All()
	if len(all) == 0 {
		return true
	}
	var grants fieldpermission.Grants
	if leads && c.Roles != nil {
		var err error
		if grants, err = c.Roles.Grants(); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "The holders of permissions are not known")
			return false
		}
	}
	maps.DeleteFunc(c.known, func(name string, _ knownState) bool { return !c.Index.Has(name) })
	well := true
	for _, p := range all {
		if err := c.write(ctx, p, grants, leads); err != nil && ctx.Err() == nil {
			well = false
			// The errors Conflict and NotFound are not reported: the object was changed or deleted
			// meanwhile.
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				utilruntime.HandleErrorWithContext(ctx, err, "The status of a FieldPermission was not written", "name", p.Name)
			}
		}
	}
	return well
}

// state returns the state of a FieldPermission, from memory if neither its entries nor its resource have
// changed.
func (c *Controller) state(ctx context.Context, p fieldpermission.Stored) (State, error) {
	gr := schema.GroupResource(validation.ResourceOf(p.Name))
	resource, err := c.Resources.FindBuiltIn(gr)
	if resource == nil && err == nil {
		resource, err = c.definitions.find(ctx, gr)
	}
	if err != nil {
		return State{}, err
	}
	if known := c.known[p.Name]; known.entries == p.Entries && known.Resource == resource {
		return known.State, nil
	}
	state, err := StateOf(resource, p.Entries)
	if err == nil {
		c.known[p.Name] = knownState{p.Entries, state}
	}
	return state, err
}

func (c *Controller) write(ctx context.Context, p fieldpermission.Stored, grants fieldpermission.Grants, leads bool) error {
	status := p.Status.DeepCopy()
	if leads {
		state, err := c.state(ctx, p)
		if err != nil {
			return err
		}
		status = Compute(p, state, grants)
	}
	counted := c.Index.Violations(p.Name)
	status.AuditViolations += counted.Count
	for _, user := range counted.Users {
		status.AuditUsers = fieldpermission.AddUser(status.AuditUsers, user)
	}
	if equality.Semantic.DeepEqual(*status, p.Status) {
		return nil
	}
	out := p.FieldPermission.DeepCopy()
	out.Status = *status
	if _, err := c.client.AuthorityV1alpha1().FieldPermissions().UpdateStatus(ctx, out, metav1.UpdateOptions{}); err != nil {
		return err
	}
	c.Index.SubtractViolations(p.Name, counted.Count)
	return nil
}
