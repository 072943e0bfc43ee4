// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import "kube-granular.dev/api/selection"

// The audit annotations that several readers use. Every server writes the decision.
const (
	SelectedAnnotation = selection.ExtraKey
	ChainAnnotation    = "authority.kube-granular.dev/chain"
	DecisionAnnotation = "authorization.k8s.io/decision"
)

// Event has the fields of an audit event that several readers use. Each of them embeds it, and adds fields of its own. U
// has the fields of users that the reader uses, so that it decodes no others.
type Event[U any] struct {
	APIVersion       string            `json:"apiVersion"`
	Kind             string            `json:"kind"`
	AuditID          string            `json:"auditID"`
	Stage            string            `json:"stage"`
	RequestURI       string            `json:"requestURI"`
	UserAgent        string            `json:"userAgent"`
	Verb             string            `json:"verb"`
	User             U                 `json:"user"`
	ImpersonatedUser *U                `json:"impersonatedUser"`
	ObjectRef        *ObjectReference  `json:"objectRef"`
	Annotations      map[string]string `json:"annotations"`
}

// ObjectReference is the object of a request. Its JSON form is the one that the server writes.
type ObjectReference struct {
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	UID             string `json:"uid,omitempty"`
	APIGroup        string `json:"apiGroup,omitempty"`
	APIVersion      string `json:"apiVersion,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Subresource     string `json:"subresource,omitempty"`
}

// Caller returns the user that was authorized: the impersonated user, if there is one.
func (e *Event[U]) Caller() U {
	if e.ImpersonatedUser != nil {
		return *e.ImpersonatedUser
	}
	return e.User
}
