// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagram draws the way of a request through the server, as an SVG.
//
// Steps are boxes in one column, in the order in which they happen. Where a step can end the
// request, an arrow leads from it to what the caller gets.
//
// The invariant: the same steps give the same bytes, so that a test can compare the file.
//
// It lays out text by the number of its characters, and knows no fonts.
package diagram
