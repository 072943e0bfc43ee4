// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expression compiles and evaluates CEL expressions that users write: the conditions of
// delegations, and the expressions of the extension x-kubernetes-permission-parameter-expression,
// which compute the parameter of a permission from the key of a map entry or list element.
//
// A Dialect is the language of one kind of expression. Its judge refuses an expression, before the
// type checker sees it, if checking it could take long. A Program counts the work of each call before
// the call begins, and ends when a budget is spent. Both bound the work, and not the bytes: neither a
// type check nor a call can be interrupted.
//
// Language is the language of parameter expressions, which resemble the validation rules of custom
// resources. `self` is the key, a string, and the result is a string. A new expression must also be
// valid in the previous version of the server, because the cluster may be rolled back to that version.
// The cost of a new expression is estimated for a key of MaxKeyLength bytes. For common ways to make a
// parameter from a key, no expression is needed: the extension
// x-kubernetes-permission-parameter-treatment offers them by name, and they are faster.
//
// Invariants: what can't be interrupted is bounded before it begins, and no goroutine outlives the
// call that it works for. If an evaluation returns an error, it returns no result. So a permission
// whose expression fails covers nothing, and a condition that fails refuses.
//
// The package implements schema.Expressions and knows neither schemas, permissions nor objects.
package expression
