// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema compiles permission trees from OpenAPI schemas. A permission tree lists the
// fields of one kind, and for each field the permissions with which a caller may change the field.
//
// In a schema, vendor extensions give the permissions of a field. A tree contains only those
// fields of the schema that have a permission, or contain a field with one. In this example
// "emits" marks a parameter source: its keys are the parameters of a permission below it.
//
//	Deployment
//	├─ metadata            metadata
//	│  ├─ labels           metadata, labels          emits label-key
//	│  │  └─ *             metadata, labels, label(label-key)
//	│  └─ finalizers ...
//	├─ spec                specification
//	│  ├─ replicas         specification, replicas
//	│  └─ template         specification, podTemplate          (a scope)
//	│     └─ metadata      specification, podTemplate, podTemplateMetadata
//	│        └─ labels     ..., podTemplateLabels
//	└─ status              status
//	   └─ conditions       status, conditions        emits condition-type
//	      └─ *             status, conditions, condition(condition-type)
//
// All other fields are the remainder of the node that contains them. A walk compares two objects.
// It compares the values of such fields as a whole, and charges a difference to the node that
// contains the field: a caller needs a permission that covers that node. The chain of a node is
// the list of all permissions that cover the node: those of the node above, followed by the node's
// own. So "more general" means "nearer to the root".
//
// Equal nodes below the same permissions are one node, in all places and trees. This saves memory,
// because most nodes of a built-in kind, in its metadata and its pod template, are also in other
// kinds. So a node has children and a chain, but no parent. A NodePath lists the nodes from the
// root down to one node.
//
// This package resolves references itself and does not use a resolver of the API server, because
// the extensions beside a $ref count, as well as those of the definition that the $ref points to.
//
// Invariant: for a difference anywhere in an object, exactly one node is the deepest at or above
// the difference, so exactly one chain covers it. A schema for which this would not hold is
// refused with an error.
//
// A tree has everything that a decision needs, including the defaults of excluded fields (fields
// that a caller may not change with the verb update alone). Only messages need the definitions,
// which may have to be generated again; see WithSource.
//
// A node records whether keys of labels and annotations are at or below it, and whether a scope
// (an embedded object such as a pod template) begins at it. It does so even if the tree has no
// permissions, because labels and annotations may be protected.
//
// The package reads no object, has no registry of kinds and calls no authorizer.
package schema
