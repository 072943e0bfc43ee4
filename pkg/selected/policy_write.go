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

// PolicyIssuer makes the delegations that policies cause, right before what causes them is stored.
type PolicyIssuer struct {
	Policies *policy.Index
	// Issuer decides what may be delegated. It is set before the server serves.
	Issuer *Issuer
	// Labels returns the labels of a namespace.
	Labels func(ctx context.Context, namespace string) (labels.Set, error)
	// Create stores a delegation with all of its status, and fails where there is one of its name.
	Create func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error)
	// Renew notes that a delegation was given to an object. It fails where it is gone.
	Renew func(ctx context.Context, d *v1alpha1.AuthorityDelegation, at time.Time) error
}

// policyTimeout is how long a write waits until the server knows the policies.
const policyTimeout = 10 * time.Second

// policyWrite is what one write causes. It is used by one goroutine.
type policyWrite struct {
	*PolicyIssuer
	ctx       context.Context
	requested schema.GroupResource
	dryRun    bool
	// old are the stamps of what is stored.
	old      policy.Stamps
	resource schema.GroupResource
}

// forWrite returns what a write of a request causes, nil where that is nothing and a stamp could name
// nothing. It could as soon as there is a delegation, whoever made it: what somebody forges before the
// first policy would be believed after.
func (c *PolicyIssuer) forWrite(ctx context.Context, dryRun bool) *policyWrite {
	select {
	case <-c.Policies.Synced():
		if c.Policies.Empty() && c.Issuer.Delegations.Empty() {
			return nil
		}
	default: // not known yet
	}
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest {
		return nil
	}
	return &policyWrite{PolicyIssuer: c, ctx: ctx, requested: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}, dryRun: dryRun}
}

// observeOld notes the stamps of what is stored, and reports whether more of it is needed.
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

// stamp writes the stamps of an object that is about to be stored, over whatever somebody else
// wrote there, and makes the delegations that they name.
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
		return nil //nolint:nilerr // what has no metadata has no stamps
	}
	all := c.Policies.For(c.resource)
	for name := range c.old {
		// Of a policy that is gone nothing is known but its name.
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

// waitForSync waits until the policies are known. Nothing is stored before, but what the server
// itself writes to begin with.
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
	return apierrors.NewServiceUnavailable("the server does not know yet which AuthorityDelegationPolicies there are")
}

// stampFor returns the stamp of an object by one policy: nil to leave it as it is, empty for none.
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
		// A header has one line.
		why := strings.Join(strings.Fields(err.Error()), " ")
		warning.AddWarning(c.ctx, "", fmt.Sprintf("AuthorityDelegationPolicy %q delegated nothing: %s", p.Name, why))
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

// stampOutOfScope returns the stamp of an object in a namespace that a policy is not for, or not any more: what
// somebody else has changed since is not run by whoever wrote it before.
func (c *policyWrite) stampOutOfScope(p *policy.Policy, obj, old runtime.Object) *string {
	if c.old[p.Name] == "" || !p.TriggeredBy(obj, old) {
		return nil
	}
	none := ""
	return &none
}

// ownDelegation returns the delegation that the caller selects, if it is one that the policy causes: what a
// delegate writes for an author is the author's.
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
	// The policy may have been changed since.
	spec := authorityvalidation.SpecByPolicy(&p.Spec, namespace)
	spec.IfLost = leaf.Source.Spec.IfLost
	if !equality.Semantic.DeepEqual(*spec, leaf.Source.Spec) || !equality.Semantic.DeepEqual(p.Status.Rules, leaf.Rules) {
		return nil
	}
	return leaf
}

// forbidden returns the error of a write that causes a delegation which can't be made.
func (c *policyWrite) forbidden(name string, p *policy.Policy, err error) error {
	if !errors.As(err, &notHeld{}) {
		return err
	}
	return apierrors.NewForbidden(c.resource, name, fmt.Errorf("AuthorityDelegationPolicy %q delegates what its author must have: %w", p.Name, err))
}
