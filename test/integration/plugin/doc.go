// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin tests kubectl-granular as users run it: the binary, through kubectl, against
// the real server.
//
// The scripts are in testdata/script. Every command line that --help shows runs too, in a
// folder with the files of testdata/examples. The page of kubectl granular ui is tested in Chromium by
// test/ui.
package plugin
