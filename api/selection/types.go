// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Header is the request header that selects an authority. A server that applies the
	// selection repeats the header in its response.
	Header = "Authority-Selector"
	// ExtraKey is the key of the extra attribute of a user that contains the selection where there
	// is no header: in access reviews, for webhooks, and in requests to aggregated API servers.
	// The attribute has one value, the result of Text.
	ExtraKey = "authority.kube-granular.dev/selected"
	// MaxLength is the maximum length of the value of the header, in bytes.
	MaxLength = 1024
	// ReasonHeader is the request header that states why the caller selects an authority. The
	// reason is written to the audit log, and has no other effect.
	ReasonHeader = "Authority-Reason"
	// MaxReasonLength is the maximum length of a reason, in bytes.
	MaxReasonLength = 256
)

// Kind is the kind of object that an AuthorityReference refers to.
type Kind string

// The kinds of objects that an AuthorityReference can refer to.
const (
	ClusterRoleKind         Kind = "ClusterRole"
	RoleKind                Kind = "Role"
	AuthorityDelegationKind Kind = "AuthorityDelegation"
)

// SelectedAuthority selects the authority by which a request is authorized: one role or delegation.
// Other permissions of the caller do not count for the request.
type SelectedAuthority struct {
	// apiVersion may be empty, authorization.k8s.io/v1 or authority.kube-granular.dev/v1alpha1.
	// kind may be empty or SelectedAuthority.
	metav1.TypeMeta `json:",inline"`
	// authorityReference refers to the authority.
	AuthorityReference AuthorityReference `json:"authorityReference"`
}

// AuthorityReference refers to a role or a delegation.
type AuthorityReference struct {
	// apiVersion may be empty, or the API version of the kind.
	APIVersion string `json:"apiVersion,omitempty"`
	// kind is ClusterRole, Role or AuthorityDelegation.
	Kind Kind `json:"kind"`
	// namespace is the namespace of a Role.
	Namespace string `json:"namespace,omitempty"`
	// name is the name of the object. A delegation may be referred to by its uid only.
	Name string `json:"name,omitempty"`
	// uid is the UID of a delegation.
	UID types.UID `json:"uid,omitempty"`
}

// ClusterRole returns the selection of a cluster role. A request is then authorized by all
// bindings of the caller to that role, in the cluster and in all namespaces.
func ClusterRole(name string) *SelectedAuthority {
	return &SelectedAuthority{AuthorityReference: AuthorityReference{Kind: ClusterRoleKind, Name: name}}
}

// Role returns the selection of a role in a namespace.
func Role(namespace, name string) *SelectedAuthority {
	return &SelectedAuthority{AuthorityReference: AuthorityReference{Kind: RoleKind, Namespace: namespace, Name: name}}
}
