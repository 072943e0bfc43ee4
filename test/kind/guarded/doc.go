// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guarded makes objects that each gate of the project protects, and sends requests that a server must refuse
// because of them.
//
//	objects.yaml ──► Objects.Apply ──► a cluster with every gate on
//	Requests     ──► Request.Send  ──► one server, which answers with Request.Want
//
// The tests of three servers and the soak test use it. The invariant: each caller that is refused something is allowed
// something else on the same object, so a caller without any right does not look like a guard that holds. Upstream's
// server allows all requests.
package guarded
