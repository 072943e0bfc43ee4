// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build identifies the build of a program: by the version of kube-granular, and by a digest of the sources of
// the controller of tenants and its plugins (hack/version.sh tenancy).
//
// The linker sets both in client-go's package version, so the header User-Agent of requests by client-go has them, too.
//
// The invariant: builds of different sources have different digests. The package reads nothing else, and decides nothing.
package build
