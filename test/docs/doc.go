// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs runs the commands in the documentation. Package facts compares what the documentation states with the
// code.
//
// The README and every file of docs/tutorials run against a cluster of their own:
//
//   - a block ```yaml title=NAME is written to the file NAME,
//   - a line `make up UP_ARGS="…"` sets the flags of the cluster; a file that a flag names is a
//     file of the document,
//   - in a block ```console, bash runs the lines that start with "$ ", and the lines below are the
//     expected output; a line "..." matches any number of lines.
//
// Tutorials also run one after the other on one server, in several orders, and broken off
// halfway. Each finished tutorial must leave the cluster and the directory as they were. This
// command adds random orders to forward and reverse:
//
//	go test ./test/docs -run TestTutorialsInAnyOrder -v -random-orders 2
//
// A failure prints the order and the -seed that repeats it.
//
// A command may fail only if the documented output shows an error. Blocks of other kinds are
// not run. The working directory holds .kube-granular, as after `make up`, and bin/ is on PATH.
package docs
