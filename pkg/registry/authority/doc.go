// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority stores and serves the kinds of the API group authority.kube-granular.dev in
// the process of kube-apiserver.
//
// A Provider builds the storage of the kinds. Objects are stored as JSON, with the configured
// encryption at rest. Other code in the same process lists and watches the objects directly in this
// storage. The storage also tells that code about each change by a request to this server, before the
// request is answered.
//
// Invariants:
//
//   - Only the server sets the fields namespaceUID and lastChange in the status of a protected
//     attribute. No client can set them through any endpoint.
//   - A dry run is never reported.
//   - No custom resource can be stored under the storage prefix of this group.
//
// The package authorizes no request.
package authority
