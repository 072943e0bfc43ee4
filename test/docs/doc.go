// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs executes what the documentation shows, and compares the numbers and messages
// in it with the code.
//
// Every file of docs/tutorials, and the README, runs against a cluster of its own:
//
//   - a block ```yaml title=NAME is written to the file NAME,
//   - a line `make up UP_ARGS="…"` tells the flags that its cluster has; files that it names are
//     those of the document,
//   - in a block ```console, lines that start with "$ " are run by bash, and the
//     lines below are what they print; a line "..." stands for any number of lines.
//
// Tutorials also run one after the other on one server, in several orders and broken off somewhere,
// and each must leave the cluster and the directory as they were. Random orders besides forward and
// reverse are asked for:
//
//	go test ./test/docs -run TestTutorialsInAnyOrder -v -random-orders 2
//
// A failure prints the order and the -seed that repeats it.
//
// A command may fail only where its output shows an error. Blocks of other kinds
// are for reading. The working directory holds .kube-granular, as after `make up`,
// and bin/ is on PATH.
package docs
