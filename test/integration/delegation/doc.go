// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation tests delegated authority on a running server: which rights a delegation
// gives to whom, what ends it, and what it must never give. Each refused request has a twin
// that is allowed.
package delegation
