// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command requests measures whole requests to kube-apiserver: what kube-granular costs
// those who don't use it, and what a rule costs those who do, against the same rule as
// an admission policy and as a webhook. Figures and method are in docs/performance.md;
// `make bench-requests` builds the servers and runs it.
//
// Model: a lane is a caller who sends one kind of request to one server. Lanes that are
// to be compared are the sides of a case, and take turns in short blocks. A figure is a
// ratio or a difference of what sides cost, with a bootstrap interval over the runs, in
// which servers start anew, and over the rounds of a run.
//
// Invariant: every request's status is checked, and every rule is seen to refuse who is
// not to pass before what it costs is measured.
//
// It runs on Linux only, which accounts the time of each thread.
package main
