// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/included"
)

// Issuer decides whether an AuthorityDelegation may be created, and fills in its status.
type Issuer struct {
	Delegations *delegation.Index
	Authorizer  authorizer.UnconditionalAuthorizer
	// Client reads roles, bindings and namespaces from storage.
	Client kubernetes.Interface
	// Cached reads roles and bindings from informers.
	Cached seam.Policy
	// Now is time.Now, except in tests.
	Now func() time.Time
}

var delegationResource = v1alpha1.Resource("authoritydelegations")

// delegatingKey is the key of a context.Context value. The value marks an escalation check that is
// made because a caller with a selected delegation creates another delegation under it. The new
// delegation inherits the conditions of the selected one, so the caller counts as holding rules
// with conditions, too.
type delegatingKey struct{}

// PrepareDelegation fills in the status of a delegation that is about to be created. It returns
// an error if the caller does not hold the permissions that are delegated.
func (d *Issuer) PrepareDelegation(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	obj.Status = v1alpha1.AuthorityDelegationStatus{}
	if errs := authorityvalidation.DelegationSpec(&obj.Spec, field.NewPath("spec")); len(errs) > 0 {
		return invalidDelegation(obj, errs...)
	}
	caller, ok := request.UserFrom(ctx)
	if !ok || caller.GetName() == "" || caller.GetName() == user.Anonymous {
		return forbiddenDelegation(obj, errors.New("only an authenticated user can delegate"))
	}
	parent, err := d.parentChain(ctx, caller)
	if err != nil {
		return forbiddenDelegation(obj, err)
	}
	ambient := withoutSelection(caller)
	if err := d.checkBounds(obj, ambient, parent); err != nil {
		return err
	}
	obj.Status.Delegator = identityOf(ambient)
	if parent != nil {
		obj.Status.History = parent.Entries()
	}
	obj.Status.History = append(obj.Status.History, handovers(ctx, ambient)...)
	// The error about a missing namespace is returned last, so that only callers that hold what
	// they delegate learn whether the namespace exists. The UID is read before the other checks, so
	// that the delegation does not apply to a later namespace of the same name.
	uid, missing := d.namespaceUID(ctx, obj)
	obj.Status.NamespaceUID = uid
	if err := d.snapshotRules(ctx, obj); err != nil {
		return err
	}
	if err := d.confirmHeld(ctx, obj, parent); err != nil {
		return err
	}
	return missing
}

// namespaceUID returns the UID of the namespace in which a delegation applies, or "" if it applies
// in the whole cluster. It returns an error if the namespace does not exist or is being deleted.
func (d *Issuer) namespaceUID(ctx context.Context, obj *v1alpha1.AuthorityDelegation) (types.UID, error) {
	name := obj.Spec.Scope.Namespace
	if name == "" {
		return "", nil
	}
	namespace, err := d.Client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if namespace.DeletionTimestamp != nil {
		return "", invalidDelegation(obj, field.Invalid(field.NewPath("spec", "scope", "namespace"), name, "is being deleted"))
	}
	return namespace.UID, nil
}

// parentChain returns the chain of the delegation that the caller selected, or nil if the caller
// selected none.
func (d *Issuer) parentChain(ctx context.Context, caller user.Info) (*delegation.Chain, error) {
	if !selects(caller) {
		return nil, nil
	}
	s, err := UserOf(caller)
	if err != nil || !s.delegated() {
		return nil, err
	}
	chain, refusal := s.chain(ctx, d.Delegations)
	if refusal != nil {
		return nil, refusal
	}
	if len(chain.Links) >= v1alpha1.MaxChain {
		return nil, fmt.Errorf("a chain can have at most %d delegations", v1alpha1.MaxChain)
	}
	return chain, nil
}

// checkBounds validates the delegates, ifLost and the expiration time of a delegation, and sets the
// expiration time in its status. It reads nothing from storage.
func (d *Issuer) checkBounds(obj *v1alpha1.AuthorityDelegation, delegator user.Info, parent *delegation.Chain) error {
	at := field.NewPath("spec")
	for i, to := range obj.Spec.Delegates {
		if isUser(to, delegator) {
			return invalidDelegation(obj, field.Invalid(at.Child("delegates").Index(i), to.Name, "is the delegator itself; select a role to act with fewer permissions"))
		}
	}
	until := obj.Spec.ExpirationTimestamp
	if until != nil && !until.After(d.Now()) {
		return invalidDelegation(obj, field.Invalid(at.Child("expirationTimestamp"), until, "must be in the future"))
	}
	if parent != nil {
		if obj.Spec.IfLost == v1alpha1.LossKeep {
			return invalidDelegation(obj, field.Forbidden(at.Child("ifLost"), "a delegation that is created under a selected delegation ends together with it, so Keep is not possible"))
		}
		if inherited := parent.ExpiresAt(); inherited != nil && (until == nil || inherited.Before(until)) {
			until = inherited
		}
	}
	obj.Status.ExpirationTimestamp = until.DeepCopy()
	return nil
}

// isUser reports whether a delegate is the user or service account u.
func isUser(to v1alpha1.Delegate, u user.Info) bool {
	return to.Kind == v1alpha1.DelegateUser && to.Name == u.GetName() ||
		to.Kind == v1alpha1.DelegateServiceAccount && serviceaccount.MatchesUsername(to.Namespace, to.Name, u.GetName())
}

// snapshotRules copies the rules that are delegated, in their present state, into the status. The
// returned errors reveal nothing about a role that the caller is not allowed to get.
func (d *Issuer) snapshotRules(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	err := d.readRules(ctx, obj)
	switch ref := obj.Spec.RoleRef; {
	case err == nil || ref == nil || !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err):
		return err
	case !d.mayGetRole(ctx, ref, obj.Spec.Scope.Namespace):
		return forbiddenDelegation(obj, roleNotHeld(ref))
	case apierrors.IsNotFound(err):
		return invalidDelegation(obj, field.NotFound(field.NewPath("spec", "roleRef", "name"), ref.Name))
	default:
		return err
	}
}

// mayGetRole reports whether the caller is allowed the verb get on a role. For a ClusterRole,
// namespace is ignored.
func (d *Issuer) mayGetRole(ctx context.Context, ref *v1alpha1.DelegatedRole, namespace string) bool {
	caller, _ := request.UserFrom(ctx)
	attributes := authorizer.AttributesRecord{
		User: caller, Verb: "get", APIGroup: rbacv1.GroupName, APIVersion: "v1", Resource: "clusterroles", Name: ref.Name, ResourceRequest: true,
	}
	if ref.Kind == v1alpha1.RoleKind {
		attributes.Resource, attributes.Namespace = "roles", namespace
	}
	decision, _, err := d.Authorizer.Authorize(ctx, attributes)
	return err == nil && decision == authorizer.DecisionAllow
}

// roleNotHeld returns the error for a role whose permissions the caller does not hold. A caller who
// is not allowed to get the role receives the same error if the role does not exist.
func roleNotHeld(ref *v1alpha1.DelegatedRole) error {
	return fmt.Errorf("you do not hold all permissions of the %s %q, or it does not exist", ref.Kind, ref.Name)
}

func (d *Issuer) readRules(ctx context.Context, obj *v1alpha1.AuthorityDelegation) error {
	at := field.NewPath("spec")
	ref := obj.Spec.RoleRef
	if ref == nil {
		obj.Status.Rules = (&v1alpha1.AuthorityDelegation{Spec: obj.Spec}).DeepCopy().Spec.Rules
		return nil
	}
	role := &v1alpha1.SnapshotRole{DelegatedRole: *ref}
	var rules []rbacv1.PolicyRule
	if ref.Kind == v1alpha1.RoleKind {
		role.Namespace = obj.Spec.Scope.Namespace
		r, err := d.Client.RbacV1().Roles(role.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.UID, role.ResourceVersion, rules = r.UID, r.ResourceVersion, r.Rules
	} else {
		r, err := d.Client.RbacV1().ClusterRoles().Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		role.UID, role.ResourceVersion, rules = r.UID, r.ResourceVersion, r.Rules
	}
	if !obj.Spec.Scope.Cluster {
		// A RoleBinding to a ClusterRole grants no non-resource URLs.
		rules = slices.DeleteFunc(rules, func(rule rbacv1.PolicyRule) bool { return len(rule.NonResourceURLs) > 0 })
	}
	if errs := authorityvalidation.Rules(rules, obj.Spec.Scope, at.Child("roleRef")); len(errs) > 0 {
		return invalidDelegation(obj, field.Invalid(at.Child("roleRef", "name"), ref.Name, "has rules that can't be delegated; list the rules in spec.rules instead: "+errs.ToAggregate().Error()))
	}
	if len(rules) == 0 {
		return invalidDelegation(obj, field.Invalid(at.Child("roleRef", "name"), ref.Name, "has no rules"))
	}
	obj.Status.Role, obj.Status.Rules = role, rules
	return nil
}

// confirmHeld returns an error if the caller does not hold the permissions that are delegated.
func (d *Issuer) confirmHeld(ctx context.Context, obj *v1alpha1.AuthorityDelegation, parent *delegation.Chain) error {
	var failed error
	caller, _ := request.UserFrom(ctx)
	if !selects(caller) && obj.Spec.IfLost != v1alpha1.LossKeep {
		// Whenever the delegation is used, all authorizers check the delegator's permissions. So
		// for a caller with the verb "delegate", the slow check below, which reads roles and
		// bindings from storage, is not needed. A caller that selects a role must not reach its
		// other permissions in this way.
		var may bool
		if may, failed = d.mayDelegate(ctx, obj); may {
			return nil
		}
	}
	asking := request.WithNamespace(context.WithValue(ctx, delegatingKey{}, true), obj.Spec.Scope.Namespace)
	all := storage{d.Client}.rbacReaders()
	resolver := validation.NewDefaultRuleResolver(all, all, all, all)
	err := validation.ConfirmNoEscalation(asking, resolver, obj.Status.Rules)
	if err != nil {
		if ordinary, other := includingRules(obj.Status.Rules); other {
			err = validation.ConfirmNoEscalation(asking, resolver, ordinary)
		}
	}
	if err == nil && obj.Spec.IfLost != v1alpha1.LossKeep {
		return nil
	}
	if failed != nil {
		return failed
	}
	if parent == nil && err == nil {
		may, failed := d.mayDelegate(ctx, obj)
		switch {
		case failed != nil:
			return failed
		case may:
			return nil
		default:
			return forbiddenDelegation(obj, fmt.Errorf("a delegation with ifLost: Keep needs the verb %q on authoritydelegations", v1alpha1.VerbDelegate))
		}
	}
	if ref := obj.Spec.RoleRef; ref != nil && !d.mayGetRole(ctx, ref, obj.Spec.Scope.Namespace) {
		err = roleNotHeld(ref)
	}
	return forbiddenDelegation(obj, err)
}

// includingRules splits rules into rules with one verb each, and replaces each permission verb,
// such as granular:image, by the ordinary verbs that include the permission, such as update and
// patch. It also reports whether it replaced any verb.
func includingRules(rules []rbacv1.PolicyRule) (out []rbacv1.PolicyRule, other bool) {
	for _, p := range splitRules(rules) {
		verbs := included.Ordinary(p.verb, p.group, p.resource)
		if p.forURL || len(verbs) == 0 {
			verbs = []string{p.verb}
		} else {
			other = true
		}
		for _, verb := range verbs {
			p.verb = verb
			out = append(out, p.rule())
		}
	}
	return out, other
}

func (d *Issuer) mayDelegate(ctx context.Context, obj *v1alpha1.AuthorityDelegation) (bool, error) {
	caller, _ := request.UserFrom(ctx)
	decision, _, err := d.Authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: caller, Verb: v1alpha1.VerbDelegate, APIGroup: v1alpha1.SchemeGroupVersion.Group, APIVersion: v1alpha1.SchemeGroupVersion.Version,
		Resource: delegationResource.Resource, Name: obj.Name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

func identityOf(u user.Info) v1alpha1.DelegatorIdentity {
	extra := maps.Clone(u.GetExtra())
	delete(extra, selection.ExtraKey)
	if len(extra) == 0 {
		extra = nil
	}
	return v1alpha1.DelegatorIdentity{Username: u.GetName(), UID: u.GetUID(), Groups: slices.Clone(u.GetGroups()), Extra: extra}
}

func forbiddenDelegation(obj *v1alpha1.AuthorityDelegation, err error) error {
	return apierrors.NewForbidden(delegationResource, obj.Name, err)
}

func invalidDelegation(obj *v1alpha1.AuthorityDelegation, errs ...*field.Error) error {
	return apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind("AuthorityDelegation").GroupKind(), obj.Name, errs)
}

// storage reads roles and bindings for RBAC from the API server's storage, because a cache can
// still contain a binding that was just deleted.
type storage struct{ client kubernetes.Interface }

// rbacReaders returns storage in the form that RBAC's rule resolver takes.
func (l storage) rbacReaders() seam.Policy {
	return seam.Policy{RoleGetter: l, RoleBindingLister: l, ClusterRoleGetter: l, ClusterRoleBindingLister: l}
}

func (l storage) GetRole(ctx context.Context, namespace, name string) (*rbacv1.Role, error) {
	return l.client.RbacV1().Roles(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (l storage) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	return l.client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
}

func (l storage) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	list, err := l.client.RbacV1().RoleBindings(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func (l storage) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	list, err := l.client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

func pointers[T any](all []T) []*T {
	out := make([]*T, len(all))
	for i := range all {
		out[i] = &all[i]
	}
	return out
}
