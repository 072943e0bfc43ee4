// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/granular/permission"
)

// Delegation is a compiled AuthorityDelegation. It is immutable, except for what usage points to: each
// request under the delegation writes there.
type Delegation struct {
	Name string
	UID  types.UID
	// Delegator is the user who created the delegation.
	Delegator user.Info
	// Rules are the delegated rules.
	Rules []rbacv1.PolicyRule
	// Keep is true if the delegation still allows a request after the delegator has lost the
	// permission for it.
	Keep bool
	// Until is when the delegation expires, zero if it does not expire.
	Until time.Time
	// History describes how the delegator got the delegated authority: by other delegations,
	// impersonation or tokens.
	History []v1alpha1.ChainEntry
	// Source is the stored object if a policy issued the delegation, and nil otherwise.
	Source *v1alpha1.AuthorityDelegation
	// lent is the stored object if kubectl granular lend made the delegation, and nil otherwise.
	lent *v1alpha1.AuthorityDelegation

	delegates    []v1alpha1.Delegate
	scope        v1alpha1.DelegationScope
	namespaceUID types.UID
	idle         time.Duration
	objects      sets.Set[types.UID]
	conditions   *conditions
	// missingReads returns what MissingReads returns for the rules, which never change.
	missingReads func() []string
	// deleting is true while the delegation is being deleted and waits for its finalizers.
	deleting bool
	version  uint64
	usage    *usage
}

// usage is when a delegation was last used. When the index replaces a Delegation by a newer version
// of the same object, both share one usage.
type usage struct {
	// lastUsed is the time of the latest use that this server knows of. lastWritten is the time of
	// the latest use that is in storage, where other servers can read it. Both are in nanoseconds
	// since 1970.
	lastUsed, lastWritten atomic.Int64
}

func (u *usage) record(moment time.Time) {
	for {
		last := u.lastUsed.Load()
		if moment.UnixNano() <= last || u.lastUsed.CompareAndSwap(last, moment.UnixNano()) {
			return
		}
	}
}

// merge returns u, after setting each of its two times to that in newer if that is later.
func (u *usage) merge(newer *usage) *usage {
	if last := newer.lastUsed.Load(); last > u.lastUsed.Load() {
		u.lastUsed.Store(last)
	}
	if written := newer.lastWritten.Load(); written > u.lastWritten.Load() {
		u.lastWritten.Store(written)
	}
	return u
}

// compile compiles a stored AuthorityDelegation. If old, the version that the index has, has the
// same conditions, both share them, so that they are compiled once. If no server has filled in the status of the
// AuthorityDelegation, the result has no delegator or no rules, and allows nothing.
func compile(d *v1alpha1.AuthorityDelegation, version uint64, old *Delegation) *Delegation {
	delegator := d.Status.Delegator
	out := &Delegation{
		Name: d.Name, UID: d.UID,
		Delegator:    &user.DefaultInfo{Name: delegator.Username, UID: delegator.UID, Groups: delegator.Groups, Extra: delegator.Extra},
		Rules:        d.Status.Rules,
		Keep:         d.Spec.IfLost == v1alpha1.LossKeep,
		History:      d.Status.History,
		delegates:    d.Spec.Delegates,
		scope:        d.Spec.Scope,
		namespaceUID: d.Status.NamespaceUID,
		deleting:     d.DeletionTimestamp != nil,
		version:      version,
		usage:        &usage{},
	}
	for _, until := range []*time.Time{timeOf(d.Spec.ExpirationTimestamp), timeOf(d.Status.ExpirationTimestamp)} {
		if until != nil && (out.Until.IsZero() || until.Before(out.Until)) {
			out.Until = *until
		}
	}
	if d.Spec.IdleSeconds != nil {
		out.idle = time.Duration(*d.Spec.IdleSeconds) * time.Second
		used := d.CreationTimestamp.Time
		if last := d.Status.LastUsed; last != nil && last.After(used) {
			used = last.Time
		}
		out.usage.lastUsed.Store(used.UnixNano())
		out.usage.lastWritten.Store(used.UnixNano())
	}
	if len(d.Spec.ObjectUIDs) > 0 {
		out.objects = sets.New(d.Spec.ObjectUIDs...)
	}
	if old != nil && equality.Semantic.DeepEqual(old.conditions.written(), d.Spec.Conditions) {
		out.conditions = old.conditions
	} else {
		out.conditions = newConditions(d.Spec.Conditions)
	}
	if old != nil {
		out.missingReads, out.usage = old.missingReads, old.usage.merge(out.usage)
	} else {
		out.missingReads = sync.OnceValue(func() []string { return MissingReads(out.Rules) })
	}
	if d.Status.Cause != nil {
		out.Source = d
	} else if d.Labels[selection.LentLabel] == "true" {
		out.lent = d
	}
	return out
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// isDelegate reports whether a user is among the delegates, who may use the delegation. If an entry
// of the delegates has a UID, it matches only a user with that UID.
func (d *Delegation) isDelegate(u user.Info) bool {
	return slices.ContainsFunc(d.delegates, func(delegate v1alpha1.Delegate) bool {
		if delegate.UID != "" && string(delegate.UID) != u.GetUID() {
			return false
		}
		switch delegate.Kind {
		case v1alpha1.DelegateUser:
			return delegate.Name != "" && delegate.Name == u.GetName()
		case v1alpha1.DelegateGroup:
			return delegate.UID == "" && slices.Contains(u.GetGroups(), delegate.Name)
		case v1alpha1.DelegateServiceAccount:
			return serviceaccount.MatchesUsername(delegate.Namespace, delegate.Name, u.GetName())
		}
		return false
	})
}

// ListsAccount reports whether the delegates include a service account with its UID.
func (d *Delegation) ListsAccount(namespace, name string, uid types.UID) bool {
	return uid != "" && slices.ContainsFunc(d.delegates, func(delegate v1alpha1.Delegate) bool {
		return delegate.UID == uid && IsAccount(delegate, namespace, name)
	})
}

// IsAccount reports whether a delegate is the service account with a name, by either of the two ways to
// name it.
func IsAccount(delegate v1alpha1.Delegate, namespace, name string) bool {
	switch delegate.Kind {
	case v1alpha1.DelegateServiceAccount:
		return delegate.Namespace == namespace && delegate.Name == name
	case v1alpha1.DelegateUser:
		return serviceaccount.MatchesUsername(namespace, name, delegate.Name)
	}
	return false
}

// conditional reports whether the delegation has conditions, or allows only the objects in its
// field objectUIDs. Then objects must be verified before they are stored.
func (d *Delegation) conditional() bool {
	return len(d.conditions.written()) > 0 || d.objects != nil
}

// inScope reports whether the delegation applies in a namespace, or in the whole cluster if
// namespace is empty.
func (d *Delegation) inScope(namespace string) bool {
	return d.scope.Cluster || d.scope.Namespace != "" && d.scope.Namespace == namespace
}

// allows reports whether the scope and the rules of the delegation allow a request. It does not
// consider the conditions of the delegation.
func (d *Delegation) allows(a authorizer.Attributes) bool {
	if !a.IsResourceRequest() && !d.scope.Cluster {
		return false
	}
	return d.inScope(a.GetNamespace()) && rbac.RulesAllow(a, d.Rules...)
}

// canVerify reports whether all conditions and objectUIDs of the delegation can be verified for a
// request with this verb. A conditional delegation must not allow any other request, because the
// object would be stored without being verified.
func (d *Delegation) canVerify(verb string) bool {
	switch {
	case !d.conditional():
		return true
	case verb == "delete":
		return len(d.conditions.written()) == 0
	case verb == "create":
		return d.objects == nil
	case verb == "update", verb == "patch":
		return true
	}
	return permission.IsVerb(verb)
}
