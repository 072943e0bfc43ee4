// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

// What tests outside the package share with those inside.
var (
	ResourceOf = resourceOf
	WalkerOf   = walkerOf
	TargetOf   = targetOf
	Short      = short
	Shown      = shown
)
