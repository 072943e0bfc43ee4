// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority stores and serves the kinds of authority.kube-granular.dev, natively, in
// the process of the API server.
//
// A Provider makes the storage of both kinds, which is JSON under whatever encryption at
// rest is configured. Kinds is how the same process reads them: from the registry's own
// stores, and with a hook that sees a change before its writer does.
//
// Invariants:
//
//   - What the server owns in a status, the UID of the namespace and who last changed the
//     specification, nobody else can set, on any path.
//   - A dry run is observed by nobody.
//   - No definition of a custom resource can have objects under our storage prefix.
//
// Nothing here decides about a request.
package authority
