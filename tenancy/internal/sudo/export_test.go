// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo

// DelegationTo exports delegationTo for the tests in package sudo_test.
var DelegationTo = delegationTo
