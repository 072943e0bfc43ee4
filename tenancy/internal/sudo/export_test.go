// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

// DelegationTo is looked at by tests from outside.
var DelegationTo = delegationTo
