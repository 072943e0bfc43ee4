// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects of authority.kube-granular.dev.
//
// The server calls the package when an object is written. Tools can call it before they send an
// object. The package checks only the object itself, and not whether the role or the resources that
// the object refers to exist.
package validation
