// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package denial

import (
	"errors"
	"slices"
)

// Denial is a refused request.
type Denial struct {
	// Resource has the form deployments.apps.
	Resource string `json:"resource"`
	// Subresource is the subresource of the request, such as status or scale.
	Subresource string `json:"subresource,omitempty"`
	Name        string `json:"name,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	User        string `json:"user,omitempty"`
	// Field is the path of the field that the caller may not change. It is empty if the request
	// was refused as a whole, for lack of an ordinary verb such as update.
	Field string `json:"field,omitempty"`
	// Verbs are the verbs that the refusal names, the narrowest one first. Each of them would allow
	// the change of Field.
	Verbs []string `json:"verbs,omitempty"`
	// Together are the verbs that are needed instead of the first of Verbs alone, such as one for the
	// old value of Field and one for the new value. It is empty if the first of Verbs suffices.
	Together []string `json:"together,omitempty"`
	// Ordinary is the ordinary verb that the caller lacks, such as update, if the request was
	// refused as a whole. It is empty for a refusal of a field.
	Ordinary string `json:"ordinary,omitempty"`
	// Protected is label or annotation if Field is protected, so that the caller needs one of
	// Verbs or Roles even if it holds update.
	Protected string `json:"protected,omitempty"`
	// Roles are the roles that a caller must be bound to, if Field is protected. One is enough.
	Roles []Role `json:"roles,omitempty"`
	// ProtectedIn is the namespace of the protected attribute. If it is empty, the label or
	// annotation is protected in the whole cluster.
	ProtectedIn string `json:"protectedIn,omitempty"`
	// FieldPermission is the name of the FieldPermission that excludes Field from the ordinary verbs.
	FieldPermission string `json:"fieldPermission,omitempty"`
	// Removed is true if the request removes Field. A client that does not know the field does that.
	Removed bool `json:"removed,omitempty"`
	// Derived is true if the request does not change Field, but the server does because of the request.
	Derived bool `json:"derived,omitempty"`
	// Why is the server's reason, if it is not just that the caller needs one of Verbs or Roles.
	Why string `json:"why,omitempty"`
	// Admission is true if the request was authorized and refused later, as by a policy, a webhook or a
	// quota. Why is what was said.
	Admission bool `json:"admission,omitempty"`
	// Grant is true if the caller wanted to grant what it does not hold itself.
	Grant bool `json:"grant,omitempty"`
}

// Role is a role that a protected label or annotation requires.
type Role struct {
	// Kind is Role or ClusterRole.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// ErrNotADenial means that a text contains no refusal in a known form.
var ErrNotADenial = errors.New(`the text is not a known refusal; a refusal has the form: deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs the verb "granular:replicas"`)

// ErrEmpty means that there is no text.
var ErrEmpty = errors.New(`the input is empty; kubectl prints refusals on standard error: kubectl ... 2>&1 | kubectl granular explain-denial`)

// Write reports whether the ordinary verb of the refusal writes fields, so that permissions of
// fields can replace it.
func (d *Denial) Write() bool {
	return slices.Contains([]string{"create", "update", "patch"}, d.Ordinary)
}
