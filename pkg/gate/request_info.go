// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"

	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/refusal"
)

// requestInfo describes the request, for error messages, the log and authorization checks.
type requestInfo struct {
	target     granular.Target
	attributes upstream.Attributes
	// marked is set if the caller does not hold the ordinary verb (create, update or patch). Then
	// a permission must cover every field that the request changes.
	marked bool
}

// boundedForbidden returns a 403 of at most redact.MaxRefusal bytes. The function says returns the
// text after the user's name, and what the causes tell besides the request; both must keep the given
// limits. boundedForbidden first calls says with the usual limits. If the error is too large, it leaves
// out all causes but the first, so that the text stays as it is. Then it calls says with narrow
// limits, and if that is not enough, it cuts the text.
func (a *requestInfo) boundedForbidden(obj runtime.Object, says func(redact.Limits) (string, refusal.Details)) error {
	var err *apierrors.StatusError
	for _, l := range []redact.Limits{redact.Usual, redact.Narrow} {
		text, why := says(l)
		why.User = redact.Head(a.user(), l.Name)
		err = apierrors.NewForbidden(a.target.Resource.GroupResource(), redact.Head(a.name(obj), l.Name), fmt.Errorf("User %q %s", why.User, text))
		summary := why.Summary(!l.Causes)
		if l.Causes {
			why.Namespace, why.Subresource = redact.Head(a.attributes.GetNamespace(), l.Name), a.target.Subresource
			err.ErrStatus.Details.Causes = append(summary, why.Causes()...)
			if redact.SizeOf(err) <= redact.MaxRefusal {
				return err
			}
		}
		err.ErrStatus.Details.Causes = summary
		if redact.SizeOf(err) <= redact.MaxRefusal {
			return err
		}
	}
	for over := redact.SizeOf(err) - redact.MaxRefusal; over > 0; over = redact.SizeOf(err) - redact.MaxRefusal {
		err.ErrStatus.Message = redact.Head(err.ErrStatus.Message, max(0, len(err.ErrStatus.Message)-over-len(redact.Ellipsis)))
	}
	return err
}

// forbidden returns the 403 for a write whose fields can't be verified. why is the reason that
// the caller sees.
func (a *requestInfo) forbidden(newObj runtime.Object, why error) error {
	return a.boundedForbidden(newObj, func(l redact.Limits) (string, refusal.Details) {
		return fmt.Sprintf("can't write it%s: %v", a.where(l), why), refusal.Details{Needs: why.Error()}
	})
}

// where returns the namespace and the subresource of the request as words for a message, such as
// ` in namespace "a" through "pods/status"`. A role that allows the change must match both.
func (a *requestInfo) where(l redact.Limits) string {
	where := ""
	if namespace := a.attributes.GetNamespace(); namespace != "" {
		where = fmt.Sprintf(" in namespace %q", redact.Head(namespace, l.Name))
	}
	if a.target.Subresource != "" {
		where += fmt.Sprintf(" through %q", a.target.Resource.Resource+"/"+a.target.Subresource)
	}
	return where
}

func (a *requestInfo) user() string {
	if user := a.attributes.GetUser(); user != nil {
		return user.GetName()
	}
	return ""
}

// name returns the name of the object in the request's URL. The URL of a create by POST contains
// no name. Then it returns metadata.name of obj, or "" if obj has none.
func (a *requestInfo) name(obj runtime.Object) string {
	if name := a.attributes.GetName(); name != "" {
		return name
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		return accessor.GetName()
	}
	return ""
}

// failed returns the 500 for a write that could not be verified because the authorizer failed. It
// logs err, the error of the authorizer, which the caller does not see.
func (a *requestInfo) failed(ctx context.Context, newObj runtime.Object, err error) error {
	klog.FromContext(ctx).Error(redact.Logged(err), "Unable to verify a write field by field", a.logFields(newObj)...)
	return apierrors.NewInternalError(errUnanswered)
}

// logFields returns the key-value pairs that identify the request in a line of the log. The pairs
// in more follow at the end.
func (a *requestInfo) logFields(obj runtime.Object, more ...any) []any {
	return append([]any{
		"user", redact.Head(a.user(), redact.Usual.Name), "resource", a.target.Resource, "subresource", a.target.Subresource,
		"object", klog.KRef(redact.Head(a.attributes.GetNamespace(), redact.Usual.Name), redact.Head(a.name(obj), redact.Usual.Name)), "marked", a.marked,
	}, more...)
}
