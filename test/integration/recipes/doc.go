// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipes runs the roles of docs/recipes against the real server with real kubectl.
//
// For each file there is one of the same name in testdata, with commands that the role allows
// and commands that it refuses. Then each verb of each rule is taken away once, and some
// command that was allowed must fail: no recipe grants what it does not need.
package recipes
