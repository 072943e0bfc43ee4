// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/refusal"
)

// FromError returns why a server refused a request. err is the answer of the server.
func FromError(err error) (*Denial, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil, ErrNotADenial
	}
	s := status.Status()
	return FromStatus(&s)
}

// FromStatus returns why a server refused a request. It reads the causes of the status, and the message if
// they do not tell.
func FromStatus(s *metav1.Status) (*Denial, error) {
	message := oneLine(s.Message)
	// A webhook chooses the causes of its answer. The server adds the name of the webhook to the message.
	if s.Details != nil && !webhookPattern.MatchString(message) {
		if why, ok := refusal.FromCauses(s.Details.Causes); ok {
			return fromDetails(s.Details, why), nil
		}
	}
	return parse(message)
}

func fromDetails(object *metav1.StatusDetails, why *refusal.Details) *Denial {
	out := &Denial{
		Resource: schema.GroupResource{Group: object.Group, Resource: object.Kind}.String(), Subresource: why.Subresource, Name: object.Name,
		Namespace: why.Namespace, User: why.User, Field: why.Field, Together: why.Together, Protected: why.Protected,
		ProtectedIn: why.ProtectedNamespace, FieldPermission: why.FieldPermission, Removed: why.Removed, Derived: why.Derived,
	}
	out.lack(why.Verbs)
	for _, role := range why.Roles {
		kind, name, _ := strings.Cut(role, "/")
		out.Roles = append(out.Roles, Role{kind, name})
	}
	if known := out.Ordinary != "" || len(out.Verbs)+len(out.Roles) > 0; !known || !strings.HasPrefix(why.Needs, "needs ") {
		out.Why = why.Needs
	}
	return out
}

// lack sets the verbs that the caller lacks: permission verbs for a field, or the ordinary verb.
func (d *Denial) lack(verbs []string) {
	if len(verbs) == 1 && !permission.IsVerb(verbs[0]) {
		d.Ordinary = verbs[0]
		return
	}
	d.Verbs = verbs
}

// statusIn returns the refusal in a text that is a Status as JSON, or nil.
func statusIn(text string) *Denial {
	var s metav1.Status
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &s) != nil || s.Kind != "Status" ||
		s.Reason != metav1.StatusReasonForbidden {
		return nil
	}
	if d, err := FromStatus(&s); err == nil {
		return d
	}
	return nil
}
