// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree reads what of the repository a document may name: its Go tests, its
// scripts, and its own documents. What is generated and never committed is not part of it.
package tree
