// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of the causes that this package writes. The message of each cause is one of the values that
// the field of Details with the same name has.
const (
	prefix = "granular.authorization.kube-granular.dev/"

	// UserCause is in every refusal that Causes describes.
	UserCause               metav1.CauseType = prefix + "user"
	NamespaceCause          metav1.CauseType = prefix + "namespace"
	SubresourceCause        metav1.CauseType = prefix + "subresource"
	VerbCause               metav1.CauseType = prefix + "verb"
	TogetherCause           metav1.CauseType = prefix + "together"
	RoleCause               metav1.CauseType = prefix + "role"
	ProtectedCause          metav1.CauseType = prefix + "protected"
	ProtectedNamespaceCause metav1.CauseType = prefix + "protected-namespace"
	FieldPermissionCause    metav1.CauseType = prefix + "field-permission"
	// RemovedCause is there if Details.Removed is set.
	RemovedCause metav1.CauseType = prefix + "removed"
	// DerivedCause is there if Details.Derived is set.
	DerivedCause metav1.CauseType = prefix + "derived"
	// ReasonCause has Details.Needs if there is no field.
	ReasonCause metav1.CauseType = prefix + "reason"
)

// Details is why a write was refused. The details of the status have the resource and the name too.
type Details struct {
	// User, Namespace and Subresource are those of the request.
	User, Namespace, Subresource string
	// Field is the path of the field that the caller may not change. It is empty if the request was
	// refused as a whole.
	Field string
	// Needs is the part of the message that says what is missing, or why the whole request was refused.
	Needs string
	// Verbs are the verbs of which each would allow the change, the narrowest one first.
	Verbs []string
	// Together are the verbs that are needed instead of the first of Verbs alone.
	Together []string
	// Protected is label or annotation if Field is protected.
	Protected string
	// Roles are the roles of which each would allow the change of a protected field, as KIND/NAME.
	Roles []string
	// ProtectedNamespace is the namespace that protects Field, empty for the whole cluster.
	ProtectedNamespace string
	// FieldPermission is the name of the FieldPermission that excludes Field.
	FieldPermission string
	// Removed is set if FieldPermission excludes Field and the request removes it.
	Removed bool
	// Derived is set if the request does not change Field, but the server does because of the request.
	Derived bool
}

// What the message says after Needs if Details.Removed or Details.Derived is set, of which at most one is.
const (
	RemovedText = "; the request removes it"
	DerivedText = "; the server changes it because of what the request changes"
)

// Cause returns RemovedText, DerivedText or "".
func (d *Details) Cause() string {
	switch {
	case d.Removed:
		return RemovedText
	case d.Derived:
		return DerivedText
	}
	return ""
}

// Summary returns the first of the causes, without the sentence if brief is set. It is empty for a
// refusal without a field.
func (d *Details) Summary(brief bool) []metav1.StatusCause {
	if d.Field == "" {
		return nil
	}
	out := metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: d.Field}
	if !brief {
		out.Message = d.Needs
	}
	return []metav1.StatusCause{out}
}

// Causes returns the causes that follow the first one.
func (d *Details) Causes() []metav1.StatusCause {
	out := []metav1.StatusCause{{Type: UserCause, Message: d.User}}
	add := func(kind metav1.CauseType, field string, texts ...string) {
		for _, text := range texts {
			if text != "" {
				out = append(out, metav1.StatusCause{Type: kind, Message: text, Field: field})
			}
		}
	}
	add(NamespaceCause, "", d.Namespace)
	add(SubresourceCause, "", d.Subresource)
	add(VerbCause, d.Field, d.Verbs...)
	add(TogetherCause, d.Field, d.Together...)
	add(ProtectedCause, d.Field, d.Protected)
	add(RoleCause, d.Field, d.Roles...)
	add(ProtectedNamespaceCause, d.Field, d.ProtectedNamespace)
	add(FieldPermissionCause, d.Field, d.FieldPermission)
	if d.Removed {
		add(RemovedCause, d.Field, strings.TrimPrefix(RemovedText, "; "))
	}
	if d.Derived {
		add(DerivedCause, d.Field, strings.TrimPrefix(DerivedText, "; "))
	}
	if d.Field == "" {
		add(ReasonCause, "", d.Needs)
	}
	return out
}

// FromCauses returns the details that Causes has written. It returns false if causes has none, as from a
// server that writes none, or from somebody else.
func FromCauses(causes []metav1.StatusCause) (*Details, bool) {
	out := &Details{}
	for _, c := range causes {
		switch c.Type {
		case UserCause:
			out.User = c.Message
		case NamespaceCause:
			out.Namespace = c.Message
		case SubresourceCause:
			out.Subresource = c.Message
		case VerbCause:
			out.Verbs, out.Field = append(out.Verbs, c.Message), c.Field
		case TogetherCause:
			out.Together = append(out.Together, c.Message)
		case ProtectedCause:
			out.Protected, out.Field = c.Message, c.Field
		case RoleCause:
			out.Roles = append(out.Roles, c.Message)
		case ProtectedNamespaceCause:
			out.ProtectedNamespace = c.Message
		case FieldPermissionCause:
			out.FieldPermission = c.Message
		case RemovedCause:
			out.Removed = true
		case DerivedCause:
			out.Derived = true
		case ReasonCause:
			out.Needs = c.Message
		}
	}
	if i := slices.IndexFunc(causes, isSummary); i >= 0 && (out.Field == "" || out.Field == causes[i].Field) {
		out.Field, out.Needs = causes[i].Field, causes[i].Message
	}
	return out, slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Type == UserCause })
}

func isSummary(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeForbidden }
