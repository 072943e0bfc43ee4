// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schema compiles permission trees from OpenAPI schemas.
//
// A schema has vendor extensions that name the permissions of a field. A tree
// has only those fields of the schema that have a permission, or lead to one:
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
// All other fields are the remainder of the node that contains them: a walk compares
// them as a whole and charges that node. The chain of a node is the chain of the node
// above, followed by its own permissions. So "more general" means "nearer to the root".
//
// Equal nodes below the same permissions are one node, in all places and trees: most
// nodes of a built-in kind, in its metadata and its pod template, are also in other
// kinds. So a node has children and a chain, but no parent. A NodePath has the nodes
// from the root.
//
// References are resolved here and not by a resolver of the API server, because both
// the extensions beside a reference and those of its target count.
//
// Invariant: a difference anywhere in an object has exactly one deepest node above it,
// and so exactly one chain. Any other schema is refused with an error.
//
// A tree has everything that a decision needs, including the defaults of excluded fields.
// Only messages need the definitions, which may be generated again; see WithSource.
//
// A node records whether keys of labels and annotations are at or below it, and whether a
// scope begins at it. It does so even without permissions, because labels and annotations
// may be protected.
//
// The package reads no object, has no registry of kinds and calls no authorizer.
package schema
