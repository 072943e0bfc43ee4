// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process runs the processes under measurement: etcd and any number of
// kube-apiservers before it, each in a key space of its own, on loopback.
//
// Model: a Stage is a directory with certificates and one etcd, whose data outlives
// the servers; a Server is one run of a binary; a Client is one user of one server.
//
// Invariant: whatever was started is gone when Stop returns.
//
// The package measures (CPU time, metrics, profiles) and may not judge: what is
// sent, and what the figures mean, is the business of its callers.
package process
