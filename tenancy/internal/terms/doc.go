// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terms decides who has what at a time: which entries of the lists of an LNamespace are in
// force, which request for sudo is granted, and when the next of them ends.
//
// Its functions are pure: the caller passes the time. Invariant: what can't be decided, such as an end
// that can't be read or an approver who is in no list, gives nothing.
package terms
