// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

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
	"kube-granular.dev/pkg/selected"
)

// PolicyIssuer issues the delegations that AuthorityDelegationPolicies require, right before the
// server stores the object that triggers a policy. All fields must be set.
type PolicyIssuer struct {
	Policies *policy.Index
	// Issuer decides what may be delegated.
	Issuer *Issuer
	// Labels returns the labels of a namespace.
	Labels func(ctx context.Context, namespace string) (labels.Set, error)
	// Create stores a delegation with its status. It fails if a delegation of that name exists.
	Create func(ctx context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error)
	// Renew stores moment as the time when a delegation was last given to an object, so that the
	// delegation is kept for another lease. It fails if the delegation was deleted.
	Renew func(ctx context.Context, d *v1alpha1.AuthorityDelegation, moment time.Time) error
	// Bound gets the service accounts whose binding a request has changed.
	Bound *selected.Bound
}

// policiesNotRead returns the error of a write to which policies may apply that the server does not know.
func policiesNotRead() error {
	return apierrors.NewServiceUnavailable("the server has not read the AuthorityDelegationPolicies yet")
}

// policyTimeout is how long a write waits for the server to read the policies.
const policyTimeout = 10 * time.Second

// policyWrite applies the delegation policies to one write. Only one goroutine may use it.
type policyWrite struct {
	*PolicyIssuer
	ctx       context.Context
	requested schema.GroupResource
	dryRun    bool
	// old are the stamps of the stored object. A stamp is an annotation with the name and UID of
	// the delegation that a policy issued for the object.
	old      policy.Stamps
	resource schema.GroupResource
}

// forWrite returns the policyWrite of a write, or nil if it has nothing to do: if there are neither
// policies nor delegations, or the request is not for a resource. With delegations but no policy,
// there is work to do, because a policyWrite also removes forged stamps: before the first policy
// exists, somebody could write a stamp that refers to an existing delegation, and controllers would
// trust the stamp later.
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
	return &policyWrite{PolicyIssuer: c, ctx: ctx, requested: schema.GroupResource{Group: info.APIGroup, Resource: info.Resource},
		dryRun: dryRun}
}

// observeOld stores the stamps of the stored object in c, and reports whether stamp will need the
// stored object itself too.
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

// stamp issues the delegations that policies require for an object that is about to be stored, and
// writes a stamp for each of them into the object. It removes or overwrites all stamps that the
// caller sent.
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
		// If the policy was deleted, it is not known which changes triggered it. So every change
		// removes its stamp, except changes of metadata, status and replicas.
		if !slices.ContainsFunc(all, func(p *policy.Policy) bool { return p.Name == name }) &&
			policy.ForDeleted(c.resource).TriggeredBy(obj, old) {
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

// waitForSync waits until the server has read the policies, and returns an error if that takes
// longer than policyTimeout or if the request ends. Writes of the API server itself do not wait.
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
	return policiesNotRead()
}

// stampFor returns the stamp that an object gets by one policy, and issues the delegation for it if
// necessary. It returns nil if the stored stamp stays, and an empty string if the stored stamp must
// be removed. If renew is true, the policy applies even to a write that does not trigger it.
func (c *policyWrite) stampFor(p *policy.Policy, obj, old runtime.Object, namespace string, renew bool) (*string, error) {
	if p.SelectsByLabels() {
		set, err := c.Labels(c.ctx, namespace)
		if err != nil {
			return nil, err
		}
		if !p.Selects(set) {
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
		if !p.TriggeredBy(obj, old) {
			// The caller only asked to renew the stamp: the author of the object has not changed.
			return nil, nil
		}
		none := ""
		return &none, nil
	}
	if err != nil {
		return nil, err
	}
	value := policy.Stamp(d.Name, d.UID)
	return &value, nil
}

// stampOutOfScope returns what stampFor returns for an object in a namespace that the policy does
// not select. A write that would trigger the policy removes the stored stamp, because the author on
// whose behalf the stamped delegation was issued did not write the new version of the object.
func (c *policyWrite) stampOutOfScope(p *policy.Policy, obj, old runtime.Object) *string {
	if c.old[p.Name] == "" || !p.TriggeredBy(obj, old) {
		return nil
	}
	none := ""
	return &none
}

// ownDelegation returns the delegation that the caller selected, if this policy issued it and has
// not changed since. It returns nil in all other cases. So an object that a delegate writes on
// behalf of an author gets the delegation of that author.
func (c *policyWrite) ownDelegation(p *policy.Policy, namespace string) *delegation.Delegation {
	u, _ := request.UserFrom(c.ctx)
	selecting, ok := u.(*selected.User)
	if !ok || !selecting.SelectsDelegation() {
		return nil
	}
	chain, refusal := selecting.Chain(c.ctx, c.Issuer.Delegations)
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
	return apierrors.NewForbidden(c.resource, name,
		fmt.Errorf("AuthorityDelegationPolicy %q delegates permissions that the author of the object must hold: %w", p.Name, err))
}
