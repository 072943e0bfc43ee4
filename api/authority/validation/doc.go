// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation tells what is wrong with an object of authority.kube-granular.dev.
//
// The server asks it when an object is written; tools may ask it before. It looks at
// nothing but the object: whether a role or a resource exists is not its business.
package validation
