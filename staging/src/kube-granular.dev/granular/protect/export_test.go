// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

// These are helpers of tests in the package, for tests outside the package.
var (
	ResourceOf = resourceOf
	WalkerOf   = walkerOf
	TargetOf   = targetOf
	Short      = short
	Shown      = shown
)
