// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demo creates the objects and users of the demo: KEP-3617's operator "supersafe", the
// deployment "web" that it manages, and two ordinary users for comparison.
//
// Model: an administrator applies the files of the folder manifests by server-side apply, with a
// field manager of its own.
//
// Invariant: applying is idempotent and never overwrites changes by other field managers. If there
// is a conflict, the object stays as it is and is reported.
//
// The package grants nothing beyond the manifests.
package demo
