// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recipes tests the roles of docs/recipes with the real server, the real kubectl, the
// program helm, and a program over Flux's library.
//
// For each role, a file of the same name in testdata lists commands that the role allows and
// commands that it refuses. The test also removes each verb of each rule in turn, and each
// resource of a rule with several. Then at least one allowed command must fail, so that no recipe
// grants more than it needs.
package recipes
