// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench compares code of kube-granular with the code that one would use without it. Both
// run in turns in one process, and the benchmarks report ratios. docs/performance.md has the
// figures and the method; `make bench` runs the benchmarks.
//
// Times are CPU times of the measuring thread. So a busy machine adds noise to both sides of a
// comparison, but does not favor one side.
package bench
