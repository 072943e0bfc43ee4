// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selected tests the header Authority-Selector on the real server: every way that a
// selection comes in, and everybody who is told of it.
//
// Who sends a request is whom a token names, to a webhook that believes it. Each refusal has
// a twin, the same request without the selection or with one that allows it.
package selected
