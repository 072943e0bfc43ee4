// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Header is the request header that selects an authority. A server that applies it
	// repeats it in the response.
	Header = "Authority-Selector"
	// ExtraKey is the extra attribute of a user that carries the selection where there is no
	// header: in access reviews, webhooks, and requests to aggregated API servers. Its one
	// value is what Text returns.
	ExtraKey = "authority.kube-granular.dev/selected"
	// MaxLength is the length of the longest value of the header, in bytes.
	MaxLength = 1024
	// ReasonHeader is the request header that holds why an authority was selected. The audit
	// log has it, and nothing else goes by it.
	ReasonHeader = "Authority-Reason"
	// MaxReasonLength is the length of the longest reason, in bytes.
	MaxReasonLength = 256
)

// Kind is the kind of what an AuthorityReference refers to.
type Kind string

// The kinds that can be referred to.
const (
	ClusterRoleKind         Kind = "ClusterRole"
	RoleKind                Kind = "Role"
	AuthorityDelegationKind Kind = "AuthorityDelegation"
)

// SelectedAuthority is the authority that a request is to be authorized by.
type SelectedAuthority struct {
	// apiVersion may be empty, authorization.k8s.io/v1 or authority.kube-granular.dev/v1alpha1.
	// kind may be empty or SelectedAuthority.
	metav1.TypeMeta `json:",inline"`
	// authorityReference refers to the authority.
	AuthorityReference AuthorityReference `json:"authorityReference"`
}

// AuthorityReference refers to a role or a delegation.
type AuthorityReference struct {
	// apiVersion may be empty, or that of the kind.
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is ClusterRole, Role or AuthorityDelegation.
	Kind Kind `json:"kind"`
	// namespace is that of a Role.
	Namespace string `json:"namespace,omitempty"`
	// name of the object. A delegation may be referred to by its uid alone.
	Name string `json:"name,omitempty"`
	// uid of a delegation.
	UID types.UID `json:"uid,omitempty"`
}

// ClusterRole returns the selection of a cluster role: of what it grants the caller
// everywhere, and in each namespace.
func ClusterRole(name string) *SelectedAuthority {
	return &SelectedAuthority{AuthorityReference: AuthorityReference{Kind: ClusterRoleKind, Name: name}}
}

// Role returns the selection of a role of a namespace.
func Role(namespace, name string) *SelectedAuthority {
	return &SelectedAuthority{AuthorityReference: AuthorityReference{Kind: RoleKind, Namespace: namespace, Name: name}}
}
