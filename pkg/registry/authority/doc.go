// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority stores and serves the kinds of the API group authority.kube-granular.dev in
// the process of kube-apiserver.
//
// A Provider builds the storage of the kinds. Objects are stored as JSON, with the configured
// encryption at rest. Other code in the same process reads them from the registry's own stores, and
// a hook reports each change to it before the request is answered.
//
// Invariants:
//
//   - The server owns the UID of the namespace and the last change in the status of a protected
//     attribute. No client can set them, on any path.
//   - The hooks ignore dry runs.
//   - No custom resource can be stored under the storage prefix of this group.
//
// The package authorizes no request.
package authority
