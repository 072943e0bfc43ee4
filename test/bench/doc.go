// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures kube-granular against what one would use without it, both
// sides in turns in one process, and reports ratios. Figures and method are in
// docs/performance.md; `make bench` runs it.
//
// Times are CPU times of the measuring thread, so that a busy machine adds noise
// to both sides but no bias to one.
package bench
