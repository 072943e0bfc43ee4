// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package facts compares what the documentation states with the code: limits, messages, metrics, versions, and the
// names of tests and pages. It only reads files, so it starts no server. Package docs runs the commands of the pages.
package facts
