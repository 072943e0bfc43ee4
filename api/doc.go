// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api is the root of a light module: the API types of kube-granular, their
// validation and their generated clients. It needs apimachinery and client-go, and nothing
// of a server, so that controllers and tools of others can import it.
//
//   - authority/v1alpha1 has the types, and the documentation of every field.
//   - authority/validation says what is wrong with an object; the server asks it.
//   - selection has the value of the header Authority-Selector, and selection/transport
//     sends it.
//   - client has the clientset, listers, informers and apply configurations.
//   - openapi has the schemas that the server publishes.
//
// All files that begin with zz_generated, client and openapi are written by
// hack/update-codegen.sh.
package api
