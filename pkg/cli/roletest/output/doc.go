// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output prints the results of tests of roles: as a table for people, as JSON, as JUnit's XML
// for systems that show test results, and as the commands by which GitHub marks lines of a pull request.
//
// The invariant: no name in a file can end a line, a cell, an element or a command of the output, and no
// output contains a field's value.
package output
