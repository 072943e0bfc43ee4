// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates objects of authority.kube-granular.dev.
//
// The server calls the package when an object is written; tools may call it before they send an
// object. It checks only the object itself, and not whether its role or resources exist.
package validation
