// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api is the root of a small module: the API types of kube-granular, their validation and
// their generated clients. It depends on apimachinery and client-go, and not on a server, so that
// other controllers and tools can import it.
//
//   - authority/v1alpha1 has the types, and the documentation of every field.
//   - authority/validation validates objects. The server uses it too.
//   - selection parses and formats the header Authority-Selector, and selection/transport
//     sends it.
//   - client has the clientset, listers, informers and apply configurations.
//   - printing prints text from clusters and logs, so that it stays on its line.
//   - openapi has the schemas that the server publishes.
//
// hack/update-codegen.sh generates client, openapi and all files that begin with zz_generated.
package api
