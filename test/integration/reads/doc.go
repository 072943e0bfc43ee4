// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reads tests the verb "readmetadata" against a real server: what its holders read of the
// objects of every resource, and that all other requests are answered as without it.
package reads
