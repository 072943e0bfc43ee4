// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure finds out which mutants the tests notice.
//
// Each test binary is compiled once, with every mutant of every package in it. Each
// test of it runs once alone, with no mutant on: that shows how long it takes and which
// mutants it comes by. Then, for each mutant, the tests that come by it run with it on:
// those of its own package first, then those of the packages above, until one fails.
// One that takes far too long, or all the memory it is given, fails as well.
package measure
