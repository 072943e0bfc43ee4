// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver runs the patched kube-apiserver inside this process.
//
// Model: a Config becomes kube-apiserver's own flags; the user's further flags
// are taken as given and win; then upstream's own code runs the server until its
// context is done.
//
// Invariant: the server listens on the one listener it is handed, so that nobody
// finds it on an address that was not asked for.
//
// kube-apiserver keeps state in package variables (feature gates, logging), so a
// process can run it once. The package may not change what the server does
// other than through its flags.
package apiserver
