// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority tests the API group authority.kube-granular.dev on the real server: with
// the gate ProtectedAttributes on and off, with two servers on one etcd, and with encryption at
// rest.
package authority
