// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress tells a person what takes long.
//
// A step that ends within half a second says nothing, so that a run with nothing
// to do is silent. It may not decide anything: a nil *Log is valid and quiet.
package progress
