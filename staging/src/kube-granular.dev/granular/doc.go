// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package granular is the library behind authorization of single fields. It knows
// Kubernetes schemas and objects, and no API server.
//
//	schema      OpenAPI definitions             -> a permission tree per kind: its fields,
//	                                               and the permissions for them
//	change      a tree, an old and a new object -> which nodes of the tree changed
//	decide      changes, an authorizer          -> nothing, or the first refusal
//	protect     protected labels and annotations, and who may change them
//	overlay     permissions that an administrator adds to the fields of a kind
//	permission  how a permission verb is spelled
//	corpus      scenarios as data, for the library and for a running server
//
// Invariant, checked by a test: no package here starts a goroutine, reads a
// clock, opens a connection, logs or ends the process.
package granular
