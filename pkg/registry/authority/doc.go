// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority stores and serves the kinds of authority.kube-granular.dev in the process of
// the API server.
//
// A Provider builds the storage of the kinds, which is JSON, with the configured encryption at
// rest. The same process reads them from the registry's own stores, and a hook reports each
// change before its request is answered.
//
// Invariants:
//
//   - The server owns the UID of the namespace and the last change in a status. Nobody else
//     can set them, on any path.
//   - The hooks ignore dry runs.
//   - No custom resource can be stored under the storage prefix of this group.
//
// The package authorizes no request.
package authority
