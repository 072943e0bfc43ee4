// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the CEL expressions of the extension
// x-kubernetes-permission-parameter-expression, which compute the parameter of a permission from
// the key of a map entry or list element.
//
// The expressions resemble the validation rules of custom resources. `self` is the key, a string,
// and the result is a string. A new expression must also be valid in the previous version, to
// which the cluster may be rolled back. Its cost is estimated for a key of MaxKeyLength bytes,
// and limited at run time. The named treatments of x-kubernetes-permission-parameter-treatment
// need no expression and are faster.
//
// Invariant: after any error there is no parameter. So an expression that fails covers nothing.
//
// The package implements schema.Expressions and knows neither schemas nor permissions.
package expression
