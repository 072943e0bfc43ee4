// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression evaluates the CEL expressions of the extension
// x-kubernetes-permission-parameter-expression, which compute the parameter of a permission from
// the key of a map entry or list element.
//
// The expressions resemble the validation rules of custom resources. `self` is the key, a string,
// and the result is a string. A new expression must also be valid in the previous version of the
// server, because the cluster may be rolled back to that version. The cost of a new expression is
// estimated for a key of MaxKeyLength bytes. The cost of each evaluation is limited at run time.
// For common ways to make a parameter from a key, no expression is needed: the extension
// x-kubernetes-permission-parameter-treatment offers them by name, and they are faster.
//
// Invariant: if the evaluation returns an error, it returns no parameter. So a permission whose
// expression fails covers nothing.
//
// The package implements schema.Expressions and knows neither schemas nor permissions.
package expression
