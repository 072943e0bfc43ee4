// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure finds out which mutants the tests notice.
//
// Each test binary is compiled once, with every mutant of every package in it. Each
// test of it runs once alone, with no mutant on: that shows how long it computes and
// which mutants it comes by. Then, for each mutant, the tests that come by it run with
// it on, until one fails. One that computes far too long, or takes all the memory it is
// given, fails as well.
package measure
