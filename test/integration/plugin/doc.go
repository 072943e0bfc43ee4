// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin tests kubectl-granular as users run it: the binary, through kubectl, against
// the real server.
//
// The scripts are in testdata/script. Every command line that --help shows runs too, in a
// folder with the files of testdata/examples. The HTML pages are tested in Chromium; without
// Chromium, these tests are skipped with a message.
package plugin
