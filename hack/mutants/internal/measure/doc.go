// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure finds which mutants (small faults in the code) the tests notice.
//
// Each test binary is compiled once, with all mutants of all packages. Each test runs once alone
// without a mutant, to measure its CPU time and the mutants that it reaches. Then, for each
// mutant, the tests that reach it run with the mutant enabled, until one fails. A test also fails
// if it exceeds the limits of CPU time or memory.
package measure
