// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command requests measures whole requests to kube-apiserver. It measures how much kube-granular
// costs callers that don't use it, and how much a rule costs as a permission, compared with the
// same rule as an admission policy and as a webhook. docs/performance.md has the figures and the
// method; `make bench-requests` builds the servers and runs the command.
//
// Model: a lane is a caller that sends one kind of request to one server. A case is a group of
// lanes that are compared; the lanes are called its sides. In each round, all sides take turns, and
// in its turn a side sends a short block of requests. A run has many rounds, and each run starts
// the servers anew. A figure is a ratio or a difference of the costs of two sides, with a bootstrap
// interval over runs and rounds.
//
// Invariant: the status of every request is checked. Before the cost of a rule is measured, the rule
// must have refused a request of a caller without the permission.
//
// The command runs only on Linux, because it reads the CPU time of each thread.
package main
