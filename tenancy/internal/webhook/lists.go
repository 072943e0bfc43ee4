// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/accounts"
	"kube-granular.dev/tenancy/internal/billing"
	"kube-granular.dev/tenancy/internal/names"
)

// permissions maps each field of the spec to the permission that is needed to change the field.
var permissions = map[string]string{
	"users": names.Users, "managers": names.Managers, "sudoers": names.Sudoers, "sudo": names.Sudo, "billing": names.Billing,
	"deletionPolicy": names.DeletionPolicy,
}

// finalizers are the finalizers that only the controller may add or remove.
var finalizers = []string{names.Finalizer, billing.Finalizer}

// Lists validates new and changed LNamespaces.
type Lists struct {
	// Client sends requests to the API server. It has no cache.
	Client client.Client
	// Accounts returns the mapping of users and groups to accounts.
	Accounts func() (accounts.Mapping, error)
	// Check returns an error as its first result if a new LNamespace is refused.
	Check func(context.Context, client.Reader, *v1alpha1.LNamespace) (refused, err error)
	// IsReserved reports whether a name is reserved for everybody.
	IsReserved func(name string) bool
}

// object is an LNamespace whose spec is decoded into a map and not into the Go type. So Lists also
// notices, and refuses, the change of a field that the Go type does not have.
type object struct {
	Metadata struct {
		Name            string   `json:"name"`
		Finalizers      []string `json:"finalizers"`
		OwnerReferences []any    `json:"ownerReferences"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec"`
}

// errReview means that it is unknown whether the caller is allowed to make the change, because the
// request for a SubjectAccessReview failed, or the mapping of accounts can't be read.
var errReview = errors.New("check whether the change is allowed")

// Handle refuses a new or changed LNamespace if the caller is not allowed to set its fields as
// they are, if a name in it is reserved, or if it leaves no room for its status. It adds warnings to
// the answer if the request is allowed.
func (l *Lists) Handle(ctx context.Context, req admission.Request) admission.Response {
	now, before := object{}, object{}
	if err := json.Unmarshal(req.Object.Raw, &now); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, &before); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	typed := v1alpha1.LNamespace{}
	if err := json.Unmarshal(req.Object.Raw, &typed); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	judge := l.created
	if req.Operation == admissionv1.Update {
		judge = func(ctx context.Context, req admission.Request, t *v1alpha1.LNamespace) error {
			old := v1alpha1.LNamespace{}
			if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
				return err
			}
			all := []error{l.changed(ctx, req, before, now), l.prolonged(ctx, req.UserInfo, &old, t),
				l.widened(ctx, req.UserInfo, old.Spec.Sudo, t.Spec.Sudo)}
			return errors.Join(all...)
		}
	}
	err := errors.Join(judge(ctx, req, &typed), reserved(typed.Spec), tooLarge(req.OldObject.Raw, req.Object.Raw))
	if err == nil {
		err = l.account(ctx, req, before, &typed)
	}
	if errors.Is(err, errReview) {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if err != nil {
		return admission.Denied(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return admission.Allowed("").WithWarnings(l.warnings(ctx, req, &typed)...)
}

// created returns an error if the name of a new LNamespace is reserved, or if the caller is not
// allowed to retain its namespace, or to let sudo lift limits of administrators. It does not check the
// lists of members, because whoever creates an LNamespace is allowed to set them all.
func (l *Lists) created(ctx context.Context, req admission.Request, t *v1alpha1.LNamespace) error {
	if l.IsReserved(t.Name) {
		return fmt.Errorf("the name %q is reserved: a namespace with this name can't belong to a tenant", t.Name)
	}
	if refused, err := l.refused(ctx, req, t); err != nil || refused != nil {
		return errors.Join(err, refused)
	}
	if err := l.widened(ctx, req.UserInfo, v1alpha1.Sudo{}, t.Spec.Sudo); err != nil {
		return err
	}
	if t.Spec.DeletionPolicy != v1alpha1.RetainNamespace {
		return nil
	}
	may, err := l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: names.FieldVerb(names.DeletionPolicy)})
	if may || err != nil {
		return err
	}
	return fmt.Errorf("spec.deletionPolicy needs the verb %s, because nobody pays for a namespace that stays",
		names.FieldVerb(names.DeletionPolicy))
}

// widened returns an error if the caller adds an allowance by which sudo lifts what administrators set on tenants, such as a
// level of pod security or a quota, and may not change spec.sudo of every LNamespace. The creator of an LNamespace, and
// sudo with the allowance Lists, may change spec.sudo of this one alone.
func (l *Lists) widened(ctx context.Context, user authenticationv1.UserInfo, before, now v1alpha1.Sudo) error {
	if !slices.ContainsFunc([]v1alpha1.SudoAllowance{v1alpha1.AllowNamespace, v1alpha1.AllowQuotas}, func(a v1alpha1.SudoAllowance) bool {
		return slices.Contains(now.Allow, a) && !slices.Contains(before.Allow, a)
	}) {
		return nil
	}
	verb := names.FieldVerb(names.Sudo)
	may, err := l.may(ctx, user, authorizationv1.ResourceAttributes{Verb: verb})
	if may || err != nil {
		return err
	}
	return fmt.Errorf("spec.sudo.allow: %s and %s need the verb %s on all LNamespaces, "+
		"because they lift limits that administrators set on tenants",
		v1alpha1.AllowNamespace, v1alpha1.AllowQuotas, verb)
}

// refused returns an error as its first result if only an administrator may create the LNamespace, and none allowed it by the
// annotation. An administrator is who may write the status of every LNamespace. The rules hold although the namespace
// exists: nobody gets permissions in it until an administrator hands it over, who may not ask who created the LNamespace.
func (l *Lists) refused(ctx context.Context, req admission.Request, t *v1alpha1.LNamespace) (refused, err error) {
	candidate := t.DeepCopy()
	candidate.Annotations = map[string]string{names.Creator: names.Person(req.UserInfo.Username)}
	if t.Annotations[names.Allowed] == "true" {
		if allows, err := mayAllow(ctx, l.Client, req.UserInfo); allows || err != nil {
			return nil, err
		}
	}
	candidate.Status = v1alpha1.LNamespaceStatus{}
	if refused, err = l.Check(ctx, l.Client, candidate); err != nil {
		err = fmt.Errorf("%w: %w", errReview, err)
	}
	return refused, err
}

// changed compares the old and the new spec, finalizers and owners. It returns an error if the
// caller is not allowed to change a field that differs, or to remove a finalizer that is gone. A
// change of the owners needs the verb delete, because the garbage collector deletes an object whose
// owners do not exist.
func (l *Lists) changed(ctx context.Context, req admission.Request, before, now object) error {
	fields := slices.Sorted(maps.Keys(now.Spec))
	for field := range before.Spec {
		if _, ok := now.Spec[field]; !ok {
			fields = append(fields, field)
		}
	}
	var refused []error
	for _, field := range fields {
		if reflect.DeepEqual(before.Spec[field], now.Spec[field]) {
			continue
		}
		permission, known := permissions[field]
		if !known {
			refused = append(refused, fmt.Errorf("spec.%s is not known to the tenancy controller, so nobody may change it", field))
			continue
		}
		may, err := l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: names.FieldVerb(permission), Name: req.Name})
		if err == nil && !may && field == "sudoers" && onlyRemoved(before.Spec[field], now.Spec[field]) {
			may, err = l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: names.FieldVerb(names.SudoersRemoval), Name: req.Name})
		}
		if err != nil {
			return err
		}
		if !may {
			refused = append(refused, fmt.Errorf("spec.%s needs the verb %s", field, names.FieldVerb(permission)))
		}
	}
	if err := l.finalizersChanged(ctx, req, before.Metadata.Finalizers, now.Metadata.Finalizers); errors.Is(err, errReview) {
		return err
	} else if err != nil {
		refused = append(refused, err)
	}
	was, owners := before.Metadata.OwnerReferences, now.Metadata.OwnerReferences
	if len(was)+len(owners) > 0 && !reflect.DeepEqual(was, owners) {
		may, err := l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: "delete", Name: req.Name})
		if err != nil {
			return err
		}
		if !may {
			refused = append(refused, errors.New("metadata.ownerReferences needs the verb delete"))
		}
	}
	return errors.Join(refused...)
}

// onlyRemoved reports whether the list now has only elements of the list before, and fewer.
func onlyRemoved(before, now any) bool {
	old, _ := before.([]any)
	left, _ := now.([]any)
	isNew := func(element any) bool {
		return !slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, element) })
	}
	return len(left) < len(old) && !slices.ContainsFunc(left, isNew)
}

// finalizersChanged returns an error if the caller is not allowed to change the finalizers. Those of
// the controller belong to it. Another one that is added keeps the object for ever, so it needs the
// verb delete.
func (l *Lists) finalizersChanged(ctx context.Context, req admission.Request, before, now []string) error {
	own := slices.IndexFunc(finalizers, func(f string) bool { return slices.Contains(before, f) != slices.Contains(now, f) })
	added := slices.IndexFunc(now, func(f string) bool { return !slices.Contains(before, f) })
	if own < 0 && added < 0 {
		return nil
	}
	may, err := l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: "update", Subresource: "status", Name: req.Name})
	if may || err != nil {
		return err
	}
	if own >= 0 {
		return fmt.Errorf("the finalizer %s belongs to the controller", finalizers[own])
	}
	if may, err = l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: "delete", Name: req.Name}); may || err != nil {
		return err
	}
	return fmt.Errorf("the finalizer %s needs the verb delete", now[added])
}

// account returns an error if spec.billing.account is required and missing, or if the caller is not
// allowed to charge it. It checks only an account that is new or was changed. A user with the
// permission to change the accounts of all LNamespaces is allowed to charge any account.
func (l *Lists) account(ctx context.Context, req admission.Request, before object, t *v1alpha1.LNamespace) error {
	if was, _ := before.Spec["billing"].(map[string]any); req.Operation == admissionv1.Update &&
		(was["account"] == t.Spec.Billing.Account || was["account"] == nil && t.Spec.Billing.Account == "") {
		return nil
	}
	mapping, err := l.Accounts()
	if err != nil {
		return fmt.Errorf("%w: %w", errReview, err)
	}
	if err := mapping.Missing(t.Spec.Billing.Account); err != nil {
		return err
	}
	refused := mapping.May(t.Spec.Billing.Account, names.Person(req.UserInfo.Username), req.UserInfo.Groups)
	if refused == nil {
		return nil
	}
	may, err := l.may(ctx, req.UserInfo, authorizationv1.ResourceAttributes{Verb: names.FieldVerb(names.Billing)})
	if err != nil {
		return err
	}
	if may {
		return nil
	}
	return refused
}

// may reports whether a user is allowed the verb what.Verb on the LNamespace what.Name, or on all
// LNamespaces if what.Name is empty.
func (l *Lists) may(ctx context.Context, who authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	return may(ctx, l.Client, who, what)
}

// mayAllow reports whether a user is an administrator, who may write the status of every LNamespace and so allows names.
func mayAllow(ctx context.Context, api client.Client, who authenticationv1.UserInfo) (bool, error) {
	return may(ctx, api, who, authorizationv1.ResourceAttributes{Verb: "update", Subresource: "status"})
}

// may is like Lists.may. It asks the API server by a SubjectAccessReview.
func may(ctx context.Context, api client.Client, who authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	what.Group, what.Version, what.Resource = v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "lnamespaces"
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range who.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.Username, Groups: who.Groups, UID: who.UID, Extra: extra, ResourceAttributes: &what,
	}}
	if err := api.Create(ctx, review); err != nil {
		return false, fmt.Errorf("%w: %w", errReview, err)
	}
	return review.Status.Allowed && !review.Status.Denied, nil
}

// reserved returns an error if a list has a member whose name is reserved for impersonation.
func reserved(s v1alpha1.LNamespaceSpec) error {
	for field, list := range s.Lists() {
		for i, subject := range *list {
			if strings.HasPrefix(subject.Name, names.Prefix) {
				return fmt.Errorf("spec.%s[%d].name: names that begin with %s are reserved", field, i, names.Prefix)
			}
		}
	}
	return nil
}

// warnings returns warnings for input that is valid but probably a mistake.
func (l *Lists) warnings(ctx context.Context, req admission.Request, t *v1alpha1.LNamespace) []string {
	var warnings []string
	for field, list := range t.Spec.Lists() {
		seen := map[v1alpha1.Subject]bool{}
		for i, subject := range *list {
			if end, ends := subject.End(); ends && !end.After(time.Now()) {
				warnings = append(warnings, fmt.Sprintf("spec.%s[%d].until has passed: the entry gives nothing", field, i))
			}
			if subject = subject.Bare(); seen[subject] {
				warnings = append(warnings, fmt.Sprintf("spec.%s names %s %q more than once", field, subject.Kind, subject.Name))
			}
			seen[subject] = true
		}
	}
	if req.Operation == admissionv1.Create {
		ns := &metav1.PartialObjectMetadata{}
		ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		if l.Client.Get(ctx, client.ObjectKey{Name: t.Name}, ns) == nil {
			warnings = append(warnings, fmt.Sprintf("the namespace %q already exists: nobody gets permissions in it until an administrator hands it over", t.Name))
		}
	}
	return warnings
}
