// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the CEL expressions that make the parameter of a
// permission from a key: x-kubernetes-permission-parameter-expression.
//
// The model is that of validation rules of custom resources. `self` is the key, a
// string, and the result is a string. An expression is accepted in the language of
// the version that the cluster may be rolled back to, its cost is estimated for
// the longest key that is foreseen, and its cost at run time is limited. Named
// treatments need none of this and remain the fast path.
//
// The invariant: whatever goes wrong, there is no parameter. An expression that
// fails covers nothing.
//
// The package implements a port of the library and knows neither schemas nor
// permissions.
package expression
