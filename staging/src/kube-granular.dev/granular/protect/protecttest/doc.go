// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protecttest has an oracle for tests of protected labels and annotations: random
// writes, and a second opinion of them.
//
// Model: an object is a list of slots, each a map of strings, spelled out by hand for some
// resources. All that is asked is answered by going through everything.
//
// The invariant: it shares nothing with package protect but the types of entries. It knows no
// tree, no path, no index and no table of what is copied.
//
// It is for tests alone, and knows nothing of the time or of chance but what it is given.
package protecttest
