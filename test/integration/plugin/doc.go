// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin tests kubectl-granular as its users run it: the binary, through kubectl,
// against the real server.
//
// testdata/script has the stories. Every command line that --help shows runs too, in a folder
// with the files of testdata/examples. The page of explain -o html is driven in Chromium;
// where there is none, that test says so and is skipped.
package plugin
