// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas writes JSON schemas for editors: of the permission extensions in definitions of custom
// resources, and of the permission verbs in roles.
//
//	extensions, treatments, registry of permissions, bytes that Parse accepts ──► docs/schemas/*.json
//
// The invariant: a schema refuses nothing that the server accepts. The server refuses more, because a JSON
// schema sees only one place of a document at a time.
//
// The schemas restrict only what is about permissions, so that they can stand beside Kubernetes' own.
package schemas
