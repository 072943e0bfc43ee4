// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress reports the progress of long steps to a person.
//
// A step that ends within half a second prints nothing, so that a run without work is silent. A nil
// *Log is valid and prints nothing.
package progress
