// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the patched server, real etcd and real kubectl, and
// looks at them as a user does.
//
// The scenarios are scripts in testdata/script: each gets a namespace of its own
// with what testdata/fixtures puts there, and says with `as USER` who runs
// kubectl. `snapshot` and `unchanged` prove that a refused request stored nothing.
//
// The invariant: for every request that is allowed there is a twin that differs in
// one thing and is refused.
package integration
