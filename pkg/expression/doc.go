// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the CEL expressions of
// x-kubernetes-permission-parameter-expression, which compute the parameter of a permission from
// a key.
//
// They resemble the validation rules of custom resources. `self` is the key, a string, and the
// result is a string. A new expression must be valid in the version that the cluster may be
// rolled back to. Its cost is estimated for a key of MaxKeyLength bytes, and limited at run
// time. Named treatments need none of this and are faster.
//
// Invariant: after any error there is no parameter. So an expression that fails covers nothing.
//
// The package implements schema.Expressions and knows neither schemas nor permissions.
package expression
