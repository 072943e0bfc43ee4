// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected tests protected labels and annotations on the real server. On every path
// that writes labels or annotations, it sends a request as a user that may set them, and as a
// user that may not.
package protected
