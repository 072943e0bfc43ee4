// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/selected"
)

// accountWrite checks the annotation that binds a service account to a delegation, on one write of an
// account. Whoever writes the annotation must be allowed to update the account, and the delegation must
// list the account as a delegate with its UID: so both sides agree. Leaving the annotation out keeps it,
// as with stamps. Under a selected authority nobody changes it: a bound account must not free itself or
// another one. Nor has a bound account owners, but for its delegation: the garbage collector would delete it after them, by
// its own rights, and another account of the name would be free.
type accountWrite struct {
	*PolicyIssuer
	ctx    context.Context
	caller user.Info
	// stored is the object in storage, without its content. It is nil before the first attempt, and for a
	// write that creates the object.
	stored *metav1.ObjectMeta
	// dryRun is true if nothing is stored.
	dryRun bool
	// changing is the account whose annotation the write in progress changes, or nil.
	changing metav1.Object
}

var accountResource = schema.GroupResource{Resource: "serviceaccounts"}

// forAccount returns the accountWrite of a request, or nil if the request does not write service accounts.
func (c *PolicyIssuer) forAccount(ctx context.Context, caller user.Info, dryRun bool) *accountWrite {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest || info.APIGroup != accountResource.Group || info.Resource != accountResource.Resource {
		return nil
	}
	return &accountWrite{PolicyIssuer: c, ctx: ctx, caller: caller, dryRun: dryRun}
}

// observeOld keeps what the check needs of the stored object.
func (c *accountWrite) observeOld(old runtime.Object) {
	if c == nil {
		return
	}
	c.stored = nil
	if accessor, err := meta.Accessor(old); err == nil && delegation.Exists(old) {
		c.stored = &metav1.ObjectMeta{UID: accessor.GetUID(), Name: accessor.GetName(), DeletionTimestamp: accessor.GetDeletionTimestamp(),
			OwnerReferences: slices.Clone(accessor.GetOwnerReferences())}
		if value, ok := accessor.GetAnnotations()[selection.BindingAnnotation]; ok {
			c.stored.Annotations = map[string]string{selection.BindingAnnotation: value}
		}
	}
}

func (c *accountWrite) boundBefore() string {
	if c.stored == nil {
		return ""
	}
	return c.stored.Annotations[selection.BindingAnnotation]
}

// check returns an error if the write must not be stored. It puts an annotation back that the write
// leaves out. obj is nil for a deletion.
func (c *accountWrite) check(obj runtime.Object) error {
	if c == nil {
		return nil
	}
	before := c.boundBefore()
	if obj == nil {
		return c.confirmDeletion(before)
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil //nolint:nilerr // an object without metadata has no annotations
	}
	if accessor.GetDeletionTimestamp() != nil && (c.stored == nil || c.stored.DeletionTimestamp == nil) {
		if err := c.confirmDeletion(before); err != nil {
			return err
		}
	}
	after, sent := accessor.GetAnnotations()[selection.BindingAnnotation]
	binding := after
	if !sent {
		binding = before
	}
	if err := c.checkOwner(accessor, binding); err != nil {
		return err
	}
	switch {
	case after == before && sent == (before != ""):
		return nil
	case !sent:
		warning.AddWarning(c.ctx, "", fmt.Sprintf("the annotation %s stays; to release the service account from its delegation, set it to the empty value",
			selection.BindingAnnotation))
		return setBinding(accessor, before)
	case selected.Selects(c.caller):
		return c.forbidden(accessor, "can't be changed while an authority is selected, or by a service account that acts under a delegation")
	}
	if err := c.confirmUpdate(accessor); err != nil {
		return err
	}
	if after == "" {
		err = setBinding(accessor, "")
	} else {
		err = c.confirmBinding(accessor, after)
	}
	if err == nil && !c.dryRun {
		c.changing = accessor
	}
	return err
}

// checkOwner returns an error if an account that is bound after the write gets an owner, or is bound while it has one. Its
// delegation may become its owner, as with a loan, by a caller that selects nothing: the two end together then.
func (c *accountWrite) checkOwner(account metav1.Object, binding string) error {
	if binding == "" {
		return nil
	}
	named, _ := selection.ParseBinding(binding) // no delegation has the name and UID of one that can't be parsed
	var before []metav1.OwnerReference
	if c.stored != nil {
		before = c.stored.OwnerReferences
	}
	for _, owner := range account.GetOwnerReferences() {
		own := owner.Kind == string(selection.AuthorityDelegationKind) && owner.APIVersion == v1alpha1.SchemeGroupVersion.String() &&
			owner.Name == named.Name && owner.UID == named.UID
		switch gains := gainsOwner(before, []metav1.OwnerReference{owner}); {
		case gains && own && !selected.Selects(c.caller):
		case gains, c.boundBefore() != binding:
			return c.forbidden(account, "can't be on an account that has metadata.ownerReferences: the garbage collector deletes it with its owner, "+
				"and another account of this name would have no such annotation")
		}
	}
	return nil
}

// readBackTimeout is how long a request waits at most to read the account that it has written.
const readBackTimeout = 5 * time.Second

// end makes a changed annotation known to this server, before the request is answered: whoever gets the answer can
// rely on it here. The informer alone would report it a moment later. If the account can't be read, which is when
// the write has failed as well, the informer has to do.
func (c *accountWrite) end() {
	if c == nil || c.changing == nil {
		return
	}
	namespace, name := c.changing.GetNamespace(), c.changing.GetName()
	c.changing = nil
	// The change is stored, whether or not the client still waits.
	ctx := context.WithoutCancel(c.ctx)
	_ = wait.PollUntilContextTimeout(ctx, readBackTimeout/50, readBackTimeout, true, func(ctx context.Context) (bool, error) {
		account, err := c.Issuer.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			c.Bound.Learn(account)
		}
		return err == nil || apierrors.IsNotFound(err), nil
	})
}

// confirmDeletion refuses to delete a bound account under a selected authority: another account could get
// its name, without the annotation.
func (c *accountWrite) confirmDeletion(before string) error {
	if before == "" || !selected.Selects(c.caller) {
		return nil
	}
	return c.forbidden(c.stored, "can't be removed with the account while an authority is selected, or by a service account that acts under a delegation")
}

// confirmUpdate returns an error unless the caller may update the account as a whole. A permission for
// single fields, or to patch, is not enough.
func (c *accountWrite) confirmUpdate(account metav1.Object) error {
	decision, reason, err := c.Issuer.Authorizer.Authorize(c.ctx, authorizer.AttributesRecord{
		User: c.caller, Verb: "update", Namespace: account.GetNamespace(), Name: account.GetName(), APIVersion: "v1",
		Resource: accountResource.Resource, ResourceRequest: true,
	})
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return err
	}
	return c.forbidden(account, "needs the verb update on the service account: "+reason)
}

// confirmBinding returns an error unless an account can be bound to the delegation that the annotation
// names.
func (c *accountWrite) confirmBinding(account metav1.Object, annotation string) error {
	named, err := selection.ParseBinding(annotation)
	if err != nil {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "ServiceAccount"}, account.GetName(), field.ErrorList{field.Invalid(
			field.NewPath("metadata", "annotations").Key(selection.BindingAnnotation), annotation, err.Error())})
	}
	if c.stored == nil {
		return c.forbidden(account, "can be set only on an account that exists: the delegation must list the account with its UID")
	}
	d, err := c.delegationOf(named)
	if err != nil {
		return err
	}
	if d == nil || !d.ListsAccount(account.GetNamespace(), account.GetName(), account.GetUID()) {
		return c.forbidden(account, fmt.Sprintf("names AuthorityDelegation %q, which does not exist with this UID, has ended, or does not list the account with its UID %q as a delegate",
			named.Name, account.GetUID()))
	}
	if d.Source != nil {
		return c.forbidden(account, fmt.Sprintf("names AuthorityDelegation %q, which a policy issued; such a delegation belongs to an object", named.Name))
	}
	return c.confirmNoDelegateOfPolicy(account)
}

// delegationOf returns the delegation that a binding names, or nil if there is none that is valid.
func (c *accountWrite) delegationOf(named selection.Binding) (*delegation.Delegation, error) {
	x := c.Issuer.Delegations
	d := x.ByName(named.Name)
	if d == nil || d.UID != named.UID {
		var err error
		if d, err = x.ReadStored(c.ctx, named.Name); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	if d == nil || d.UID != named.UID || !x.Valid(d) {
		return nil, nil
	}
	return d, nil
}

// confirmNoDelegateOfPolicy refuses to bind a controller that acts under the delegations of a policy: it
// could select them no more.
func (c *accountWrite) confirmNoDelegateOfPolicy(account metav1.Object) error {
	select {
	case <-c.Policies.Synced():
	default:
		return policiesNotRead()
	}
	for _, r := range c.Policies.Resources() {
		for _, p := range c.Policies.For(r) {
			if slices.ContainsFunc(p.Spec.Delegates, func(d v1alpha1.Delegate) bool {
				return delegation.IsAccount(d, account.GetNamespace(), account.GetName())
			}) {
				return c.forbidden(account, fmt.Sprintf("can't be set, because the service account is a delegate of AuthorityDelegationPolicy %q", p.Name))
			}
		}
	}
	return nil
}

func (c *accountWrite) forbidden(account metav1.Object, why string) error {
	return apierrors.NewForbidden(accountResource, account.GetName(), errors.New("the annotation "+selection.BindingAnnotation+" "+why))
}

// setBinding sets the annotation of an account, or removes it if value is empty.
func setBinding(account metav1.Object, value string) error {
	// Other objects may share the map, so it is not modified.
	all := maps.Clone(account.GetAnnotations())
	if value == "" {
		delete(all, selection.BindingAnnotation)
	} else {
		if all == nil {
			all = map[string]string{}
		}
		all[selection.BindingAnnotation] = value
		if err := apimachineryvalidation.ValidateAnnotationsSize(all); err != nil {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("with the annotation %s, the annotations are too large: %v", selection.BindingAnnotation, err))
		}
	}
	account.SetAnnotations(all)
	return nil
}
