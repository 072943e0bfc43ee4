// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demo puts the objects and users of the first story into a cluster:
// KEP-3617's operator "supersafe", the deployment "web" it looks after, and two
// ordinary users to compare it with.
//
// Model: the manifests directory, readable files, is applied by the
// administrator with server-side apply under a field manager of its own.
//
// Invariant: applying is idempotent and never takes away what somebody else
// has changed; an object in conflict is left as it is and reported.
//
// The package may not grant anything that is not written in a manifest.
package demo
