// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference makes the registry of permissions from the kinds a server serves and
// the vocabulary, and writes it for machines and for people.
//
// The invariant: the same kinds and vocabulary give the same bytes, and every
// permission of every tree is in it. One that the vocabulary can't describe is an
// error.
//
// It reads and writes no file.
package reference
