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

// Mode is what happens to a request that an attribute does not admit.
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
	// MaxValues is how many values protectedValues or allowedValues may have.
	MaxValues = 256
	// MaxValueLength is how many bytes a value of an annotation may have there. Values of
	// labels are shorter by their own form.
	MaxValueLength = 4096
	// MaxResources is how many entries resources and excludeResources may have.
	MaxResources = 64
)

// ProtectedAttributeSpec is what is protected, and who may set it.
type ProtectedAttributeSpec struct {
	// attributeKind is what is protected: Label or Annotation.
	// +required
	AttributeKind AttributeKind `json:"attributeKind"`

	// attributeName is the key of the label or annotation, such as "example.com/tier", or a
	// domain followed by "/*", such as "example.com/*", for all keys of that domain. Keys that
	// the server or its controllers set themselves cannot be protected; a domain leaves them
	// out.
	// +required
	AttributeName string `json:"attributeName"`

	// roleRef names the role whose subjects may set, change and remove the attribute. A
	// ClusterProtectedAttribute takes a ClusterRole only, and counts only
	// ClusterRoleBindings. The role need not exist: until it does, nobody holds it. Without
	// roleRef the verb granular:protectedLabel(KEY) or granular:protectedAnnotation(KEY) is
	// asked of the authorizer instead.
	// +optional
	RoleRef *RoleReference `json:"roleRef,omitempty"`

	// protectedValues are the values that are protected: setting the attribute to one of
	// them, and changing it away from one, takes the role; all other values are free. Empty
	// means that every value is protected. At most one of protectedValues and allowedValues
	// may be set.
	// +optional
	// +listType=atomic
	ProtectedValues []string `json:"protectedValues,omitempty"`

	// allowedValues are the only values that the role may set; the attribute is protected
	// whatever its value is. Empty means that the role may set every value. At most one of
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

	// kind is Role or ClusterRole. A Role is one of the attribute's own namespace.
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
