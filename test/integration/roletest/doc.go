// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roletest tests kube-granular test, as a pipeline runs it.
//
// Each archive of testdata has tests of roles, and what the command must say about them. One server
// judges them all, so they also show that no test sees the objects of another one.
package roletest
