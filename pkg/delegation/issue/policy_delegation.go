// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/selected"
)

// maxAttempts is how many names are tried for a delegation of the same content. More than one can
// be needed, because a delegation that has expired or is being deleted still occupies its name, and
// is kept as long as an object names it. With spec.idleSeconds of the policy, each long pause of an
// author can leave one. An attempt takes some microseconds.
const maxAttempts = 1024

// delegationFor returns the delegation that a policy issues for an object in a namespace. If a
// valid delegation with the same content exists, it returns that delegation. If none exists, it
// creates one.
func (c *policyWrite) delegationFor(p *policy.Policy, namespace string) (*v1alpha1.AuthorityDelegation, error) {
	want, err := c.Issuer.policyDelegation(c.ctx, p, namespace)
	if err != nil {
		return nil, err
	}
	confirmed, name := false, contentNames(want)
	for attempt := range maxAttempts {
		want.Name = name(attempt)
		have := c.Issuer.Delegations.ByName(want.Name)
		if have == nil {
			if !confirmed {
				// With ifLost: Keep, nothing checks the delegator's permissions when the
				// delegation is used. So this check reads storage and not a cache.
				all := c.Issuer.Cached
				if want.Spec.IfLost == v1alpha1.LossKeep {
					all = storage{c.Issuer.Client}.rbacReaders()
				}
				if err := c.Issuer.confirmPolicyHeld(c.ctx, want, all); err != nil {
					return nil, err
				}
				confirmed = true
			}
			if c.dryRun {
				return want, nil
			}
			made, err := c.Create(c.ctx, want)
			if err == nil {
				audit.Delegated(c.ctx, made.Name, string(made.UID))
				return made, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return nil, err
			}
			if have, err = c.Issuer.Delegations.ReadStored(c.ctx, want.Name); err != nil {
				return nil, err
			}
		}
		// Valid is asked first, because it costs less, and most delegations that are found are expired.
		if have == nil || !c.Issuer.Delegations.Valid(have) || !sameAuthority(have, want) {
			continue
		}
		if !confirmed {
			// The delegation exists: the author has given its permissions away before, and every
			// write of the author comes here. So a cache, which lags behind by moments, is enough.
			if err := c.Issuer.confirmPolicyHeld(c.ctx, want, c.Issuer.Cached); err != nil {
				return nil, err
			}
			confirmed = true
		}
		if kept, err := c.renewLease(have); err != nil || kept {
			return have.Source, err
		}
	}
	return nil, apierrors.NewServiceUnavailable(fmt.Sprintf(
		"AuthorityDelegationPolicy %q can issue no delegation: all %d names for its content belong to delegations that have expired or are being deleted; delete those that no object needs", p.Name, maxAttempts))
}

// renewLease starts the lease of a delegation anew if half of the lease is over. Otherwise the
// sweeper could remove the delegation before the object that refers to it is stored. It returns
// false if the delegation was changed or deleted meanwhile.
func (c *policyWrite) renewLease(d *delegation.Delegation) (bool, error) {
	now := c.Issuer.Now()
	if start, stays := d.Lease(); now.Sub(start) < stays/2 || c.dryRun {
		return true, nil
	}
	err := c.Renew(c.ctx, d.Source, now)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}

// notHeld wraps the reason why the author of a write can't delegate what a policy delegates, for
// instance because the author does not hold the permissions.
type notHeld struct{ error }

// sameAuthority reports whether a stored delegation has the same specification and status as the
// wanted one. It ignores when the stored delegation was last used or renewed, and its problems, which
// follow from the rest.
func sameAuthority(have *delegation.Delegation, want *v1alpha1.AuthorityDelegation) bool {
	if have.Source == nil {
		return false
	}
	status := have.Source.Status.DeepCopy()
	status.LastUsed, status.Problems, status.Cause.Renewed = nil, nil, nil
	return equality.Semantic.DeepEqual(have.Source.Spec, want.Spec) && equality.Semantic.DeepEqual(*status, want.Status)
}

// contentNames returns a function that returns a name for a delegation: a prefix and a hash of its
// content and of attempt, which is increased to get another name for the same content. The content
// can have some hundred kilobytes, so it is hashed only once.
func contentNames(d *v1alpha1.AuthorityDelegation) func(attempt int) string {
	text, err := json.Marshal(struct {
		Spec    v1alpha1.AuthorityDelegationSpec
		Status  v1alpha1.AuthorityDelegationStatus
		Attempt int
	}{d.Spec, d.Status, 0})
	if err != nil {
		panic(err) // none of its types can fail
	}
	content := sha256.New()
	content.Write(bytes.TrimSuffix(text, []byte("0}")))
	return func(attempt int) string {
		named, err := content.(hash.Cloner).Clone()
		if err != nil {
			panic(err) // the hash of this package can't fail
		}
		fmt.Fprintf(named, "%d}", attempt)
		return v1alpha1.PolicyPrefix + hex.EncodeToString(named.Sum(nil)[:16])
	}
}

// policyDelegation returns the delegation that a policy issues in a namespace on behalf of the
// caller, without storing it.
func (d *Issuer) policyDelegation(ctx context.Context, p *policy.Policy, namespace string) (*v1alpha1.AuthorityDelegation, error) {
	out := &v1alpha1.AuthorityDelegation{Spec: *authorityvalidation.SpecByPolicy(&p.Spec, namespace)}
	if namespace == "" {
		return nil, notHeld{fmt.Errorf("%s is a cluster-scoped resource", p.Resource)}
	}
	caller, ok := request.UserFrom(ctx)
	if !ok || caller.GetName() == "" || caller.GetName() == user.Anonymous {
		return nil, notHeld{errors.New("only an authenticated user can delegate")}
	}
	parent, err := d.parentChain(ctx, caller)
	if again := unavailable(err); again != nil {
		return nil, again
	}
	if err != nil {
		return nil, notHeld{err}
	}
	ambient := withoutTokenExtras(selected.WithoutSelection(caller))
	if slices.ContainsFunc(p.Spec.Delegates, func(delegate v1alpha1.Delegate) bool { return isUser(delegate, ambient) }) {
		return nil, notHeld{fmt.Errorf("user %q is in spec.delegates of the policy, and nobody can delegate to themselves", ambient.GetName())}
	}
	if parent != nil {
		out.Spec.IfLost = v1alpha1.LossWithdraw
		out.Status.ExpirationTimestamp = parent.ExpiresAt()
		out.Status.History = parent.Entries()
	}
	out.Status.History = append(out.Status.History, withoutTokenEntries(selected.Handovers(ctx, selected.WithoutSelection(caller)))...)
	if out.Status.Delegator, err = d.delegatorOf(ctx, ambient); err != nil {
		return nil, notHeld{err}
	}
	slices.Sort(out.Status.Delegator.Groups)
	if out.Status.NamespaceUID = d.Delegations.NamespaceUID(namespace); out.Status.NamespaceUID == "" {
		// The namespace is not in this server's informer yet.
		found, err := d.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		out.Status.NamespaceUID = found.UID
	}
	out.Status.Rules, out.Status.Role = p.Status.Rules, p.Status.Role
	out.Status.Cause = &v1alpha1.DelegationCause{Policy: p.Name, UID: p.UID, Resource: p.Spec.Resource,
		OrphanSeconds: v1alpha1.DefaultOrphanSeconds}
	if s := p.Spec.OrphanSeconds; s != nil {
		out.Status.Cause.OrphanSeconds = *s
	}
	return out.DeepCopy(), nil
}

// tokenExtras are the extra attributes of a user that differ from token to token. They are left
// out of the delegations that policies issue. Otherwise each token of a user would get its own
// delegation.
var tokenExtras = []string{
	user.CredentialIDKey, serviceaccount.PodNameKey, serviceaccount.PodUIDKey, serviceaccount.NodeNameKey, serviceaccount.NodeUIDKey,
}

// withoutTokenExtras returns a user without the extra attributes that belong to one token.
func withoutTokenExtras(u user.Info) user.Info {
	extra := maps.Clone(u.GetExtra())
	for _, key := range tokenExtras {
		delete(extra, key)
	}
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Groups: slices.Clone(u.GetGroups()), Extra: extra}
}

// withoutTokenEntries returns the entries of a delegation's history without credentials. It leaves
// out the entries of tokens that are not bound to a Pod or a Node.
func withoutTokenEntries(all []v1alpha1.ChainEntry) (out []v1alpha1.ChainEntry) {
	for _, e := range all {
		if e.Credential = ""; e.Via != v1alpha1.ViaToken || e.Name != "" {
			out = append(out, e)
		}
	}
	return out
}
