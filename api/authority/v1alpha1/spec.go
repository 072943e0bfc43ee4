// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AttributeKind is a kind of attribute that can be protected.
// +enum
type AttributeKind string

const (
	// AttributeLabel is a label.
	AttributeLabel AttributeKind = "Label"
	// AttributeAnnotation is an annotation.
	AttributeAnnotation AttributeKind = "Annotation"
)

// Mode tells what happens to a request that an attribute does not permit.
// +enum
type Mode string

const (
	// ModeEnforce refuses the request.
	ModeEnforce Mode = "Enforce"
	// ModeAudit lets the request through, warns the caller, and counts it.
	ModeAudit Mode = "Audit"
)

// Kinds of roles that a RoleReference may name, and their API group.
const (
	RoleGroup       = "rbac.authorization.k8s.io"
	RoleKind        = "Role"
	ClusterRoleKind = "ClusterRole"
)

// Bounds of the lists in a specification.
const (
	// MaxValues is the maximum number of protectedValues or allowedValues.
	MaxValues = 256
	// MaxValueLength is the maximum length of a value in them, in bytes. Values of labels have a
	// shorter limit.
	MaxValueLength = 4096
	// MaxResources is the maximum number of resources or excludeResources.
	MaxResources = 64
)

// ProtectedAttributeSpec sets what is protected, and who may set it.
type ProtectedAttributeSpec struct {
	// attributeKind is what is protected: Label or Annotation.
	// +required
	AttributeKind AttributeKind `json:"attributeKind"`

	// attributeName is the key of the label or annotation, such as "example.com/tier", or a
	// domain followed by "/*", such as "example.com/*", for all keys of that domain. Keys that
	// the server or its controllers set themselves cannot be protected; a domain does not include
	// them.
	// +required
	AttributeName string `json:"attributeName"`

	// roleRef names the role whose subjects may set, change and remove the attribute. For a
	// ClusterProtectedAttribute it must be a ClusterRole, and only ClusterRoleBindings count. The
	// role need not exist: until it does, nobody holds it. Without roleRef, the verb
	// granular:protectedLabel(KEY) or granular:protectedAnnotation(KEY) is needed instead.
	// +optional
	RoleRef *RoleReference `json:"roleRef,omitempty"`

	// protectedValues are the values that are protected: the role is needed to set the attribute
	// to one of them, and to change it from one of them. All other values are not protected.
	// Empty means that all values are protected. At most one of protectedValues and allowedValues
	// may be set.
	// +optional
	// +listType=atomic
	ProtectedValues []string `json:"protectedValues,omitempty"`

	// allowedValues are the only values that subjects of the role may set; all values of the
	// attribute are protected. Empty means that they may set any value. At most one of
	// protectedValues and allowedValues may be set.
	// +optional
	// +listType=atomic
	AllowedValues []string `json:"allowedValues,omitempty"`

	// mode is Enforce, which refuses requests, or Audit, which only warns and counts.
	// +optional
	// +default="Enforce"
	Mode Mode `json:"mode,omitempty"`

	// resources are the resources whose objects are protected. Empty means all.
	// +optional
	// +listType=atomic
	Resources []GroupResource `json:"resources,omitempty"`

	// excludeResources are resources whose objects are not protected.
	// +optional
	// +listType=atomic
	ExcludeResources []GroupResource `json:"excludeResources,omitempty"`
}

// RoleReference names a Role or a ClusterRole.
type RoleReference struct {
	// apiGroup is the group of the role: rbac.authorization.k8s.io.
	// +optional
	// +default="rbac.authorization.k8s.io"
	APIGroup string `json:"apiGroup,omitempty"`

	// kind is Role or ClusterRole. A Role must be in the namespace of the attribute.
	// +required
	Kind string `json:"kind"`

	// name is the name of the role.
	// +required
	Name string `json:"name"`
}

// GroupResource names a resource, without a version.
type GroupResource struct {
	// group is the API group; empty means the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// resource is the plural name, such as "pods", without a subresource.
	// +required
	Resource string `json:"resource"`
}
