// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected tests protected labels and annotations on the real server: every path on
// which they move, each as somebody who may and as somebody who may not.
package protected
