// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagram draws the path of a request through the server as an SVG.
//
// The steps are boxes in one column, in order. If a step can end the request, an arrow leads to
// the response.
//
// The invariant: the output is deterministic, so that a test can compare the file.
//
// The layout uses the number of characters, and no font metrics.
package diagram
