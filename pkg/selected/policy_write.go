// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// PolicyIssuer issues the delegations that AuthorityDelegationPolicies require, right before the
// server stores the object that triggers a policy.
type PolicyIssuer struct {
	Policies *policy.Index
	// Issuer decides what may be delegated. It must be set before the server serves requests.
	Issuer *Issuer
	// Labels returns the labels of a namespace.
	Labels func(ctx context.Context, namespace string) (labels.Set, error)
	// Create stores a delegation with its status. It fails if a delegation of that name exists.
	Create func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error)
	// Renew records that a delegation was given to one more object. It fails if the delegation
	// was deleted.
	Renew func(ctx context.Context, d *v1alpha1.AuthorityDelegation, at time.Time) error
}

// policyTimeout is how long a write waits for the server to read the policies.
const policyTimeout = 10 * time.Second

// policyWrite applies the delegation policies to one write. Only one goroutine may use it.
type policyWrite struct {
	*PolicyIssuer
	ctx       context.Context
	requested schema.GroupResource
	dryRun    bool
	// old are the stamps of the stored object. A stamp is an annotation that names the
	// delegation which a policy issued for the object.
	old      policy.Stamps
	resource schema.GroupResource
}

// forWrite returns the policyWrite of a write, or nil if there are neither policies nor
// delegations. Delegations count too: otherwise somebody could forge a stamp that names an
// existing delegation before the first policy exists, and controllers would trust the stamp
// later.
func (c *PolicyIssuer) forWrite(ctx context.Context, dryRun bool) *policyWrite {
	select {
	case <-c.Policies.Synced():
		if c.Policies.Empty() && c.Issuer.Delegations.Empty() {
			return nil
		}
	default: // the policies are not read yet
	}
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest {
		return nil
	}
	return &policyWrite{PolicyIssuer: c, ctx: ctx, requested: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, dryRun: dryRun}
}

// observeOld records the stamps of the stored object, and reports whether the final check will
// need the stored object itself.
func (c *policyWrite) observeOld(old runtime.Object) bool {
	if c == nil {
		return false
	}
	c.resource = policy.ResourceOf(old, c.requested)
	c.old = policy.StampsOf(old, c.resource)
	return !c.synced() || len(c.old) > 0 || len(c.Policies.For(c.resource)) > 0
}

func (c *policyWrite) synced() bool {
	select {
	case <-c.Policies.Synced():
		return true
	default:
		return false
	}
}

// stamp issues the delegations for an object that is about to be stored, and writes the
// annotations that name them, the stamps. It replaces stamps that anybody else wrote.
func (c *policyWrite) stamp(obj, old runtime.Object) error {
	if old != nil && !delegation.Exists(old) {
		old = nil
	}
	c.resource = policy.ResourceOf(obj, c.requested)
	if err := c.waitForSync(); err != nil {
		return err
	}
	sent, stamps := policy.StampsOf(obj, c.resource), policy.Stamps{}
	maps.Copy(stamps, c.old)
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil //nolint:nilerr // an object without metadata has no stamps
	}
	all := c.Policies.For(c.resource)
	for name := range c.old {
		// The policy was deleted, and only its name is known. So its stamp is removed by any
		// change that would trigger a policy with only replicas as neutral.
		if !slices.ContainsFunc(all, func(p *policy.Policy) bool { return p.Name == name }) && policy.ForDeleted(c.resource).TriggeredBy(obj, old) {
			delete(stamps, name)
		}
	}
	for _, p := range all {
		value, err := c.stampFor(p, obj, old, accessor.GetNamespace(), sent[p.Name] == v1alpha1.StampRenew)
		switch {
		case err != nil:
			return c.forbidden(accessor.GetName(), p, err)
		case value == nil:
		case *value == "":
			delete(stamps, p.Name)
		default:
			stamps[p.Name] = *value
		}
	}
	return stamps.ApplyTo(obj, c.resource)
}

// waitForSync waits until the server has read the policies. Until then, only objects that the
// API server itself writes are stored.
func (c *policyWrite) waitForSync() error {
	u, _ := request.UserFrom(c.ctx)
	if c.synced() || u.GetName() == user.APIServerUser {
		return nil
	}
	select {
	case <-c.Policies.Synced():
		return nil
	case <-c.ctx.Done():
	case <-time.After(policyTimeout):
	}
	return apierrors.NewServiceUnavailable("the server has not read the AuthorityDelegationPolicies yet")
}

// stampFor returns the stamp that an object gets by one policy. It returns nil if the object
// keeps its present stamp, and an empty string if it loses that stamp.
func (c *policyWrite) stampFor(p *policy.Policy, obj, old runtime.Object, namespace string, renew bool) (*string, error) {
	if p.SelectsByLabels() {
		of, err := c.Labels(c.ctx, namespace)
		if err != nil {
			return nil, err
		}
		if !p.Selects(of) {
			return c.stampOutOfScope(p, obj, old), nil
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if !renew && !p.TriggeredBy(obj, old) {
		return nil, nil
	}
	if leaf := c.ownDelegation(p, namespace); leaf != nil {
		value := policy.Stamp(leaf.Name, leaf.UID)
		return &value, nil
	}
	d, err := c.delegationFor(p, namespace)
	if errors.As(err, &notHeld{}) && p.Spec.IfNotHeld == v1alpha1.NotHeldSkip {
		// A warning is sent as a header, so it must be a single line.
		why := strings.Join(strings.Fields(err.Error()), " ")
		warning.AddWarning(c.ctx, "", fmt.Sprintf("AuthorityDelegationPolicy %q issued no delegation: %s", p.Name, why))
		audit.NotDelegated(c.ctx, p.Name)
		none := ""
		return &none, nil
	}
	if err != nil {
		return nil, err
	}
	value := policy.Stamp(d.Name, d.UID)
	return &value, nil
}

// stampOutOfScope returns the stamp of an object in a namespace that the policy does not select.
// If the write triggers the policy, the stamp is removed: the author that it stands for did not
// write the new version of the object.
func (c *policyWrite) stampOutOfScope(p *policy.Policy, obj, old runtime.Object) *string {
	if c.old[p.Name] == "" || !p.TriggeredBy(obj, old) {
		return nil
	}
	none := ""
	return &none
}

// ownDelegation returns the delegation that the caller selected, if this policy issued it, and
// nil otherwise. So an object that a delegate writes on behalf of an author gets the delegation
// of that author.
func (c *policyWrite) ownDelegation(p *policy.Policy, namespace string) *delegation.Delegation {
	u, _ := request.UserFrom(c.ctx)
	selecting, ok := u.(*User)
	if !ok || !selecting.delegated() {
		return nil
	}
	chain, refusal := selecting.chain(c.ctx, c.Issuer.Delegations)
	if refusal != nil {
		return nil
	}
	leaf := chain.Leaf()
	if leaf.Source == nil || leaf.Source.Status.Cause.UID != p.UID || !leaf.InScope(namespace) {
		return nil
	}
	// The policy may have changed since it issued the delegation.
	spec := authorityvalidation.SpecByPolicy(&p.Spec, namespace)
	spec.IfLost = leaf.Source.Spec.IfLost
	if !equality.Semantic.DeepEqual(*spec, leaf.Source.Spec) || !equality.Semantic.DeepEqual(p.Status.Rules, leaf.Rules) {
		return nil
	}
	return leaf
}

// forbidden returns the error of a write for which the policy issues no delegation.
func (c *policyWrite) forbidden(name string, p *policy.Policy, err error) error {
	if !errors.As(err, &notHeld{}) {
		return err
	}
	return apierrors.NewForbidden(c.resource, name, fmt.Errorf("AuthorityDelegationPolicy %q delegates permissions that the author of the object must hold: %w", p.Name, err))
}
