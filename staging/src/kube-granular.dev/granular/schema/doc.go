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
// Everything else is the remainder of the node it lies under: the walk compares
// it as a whole and charges it there. Below every node the chain is the one of
// the node above and what it adds itself, so "more general" is the same as
// "nearer to the root".
//
// What is the same below the same permissions is one node, however many places and
// trees have it: most of what a built-in kind has, its metadata and its pod template,
// others have as well. So a node knows what is below it and which permissions cover
// it, but no parent; a Place knows the way.
//
// References are resolved here and not by a resolver of the API server, because
// extensions beside a reference must be honoured as well as those on what it
// refers to.
//
// The invariant: a difference anywhere in an object lies under exactly one
// deepest node, so it has exactly one chain. A schema for which that cannot be
// had is refused with an error.
//
// A tree has all that a decision needs, the defaults of excluded fields among it. Only
// messages look at definitions again, and those may be made anew for it; see WithSource.
//
// A node says where keys of labels and annotations are, at it or below, and where a scope
// begins: with or without permissions, for they may be protected.
//
// The package reads no object, keeps no registry of kinds and asks nobody.
package schema
