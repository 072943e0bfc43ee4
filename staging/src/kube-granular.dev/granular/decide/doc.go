// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide decides whether the permissions that a caller holds cover the
// changes of one write.
//
//	chain of a change, general to specific       candidates
//	metadata > labels > label(a)                 all three
//	specification > guard! > guardMode           guard!, guardMode
//	specification > guard! > guardLock!          guard!, guardLock!
//
// (! is excluded.) A change is covered by the first of its candidates that the
// caller holds. If the chain has an excluded permission, a more general permission
// is a candidate only if it is excluded itself: otherwise a grant of specification
// would cover a field that is excluded later. A permission below the last excluded
// one is a narrower grant within it, and is a candidate too.
//
// A permission whose parameter is made from a value covers a change only if the caller holds
// a verb of it for each old and new value.
//
// Every change of a marked request must be covered. An unmarked request, whose
// caller holds the ordinary verb, must be covered only for changes whose chain has
// an excluded permission.
//
// The authorizer is asked each verb at most once for a request, retries included,
// and only a limited number of verbs. So its work is bounded, however much the
// request changes. A verb that the authorizer could not answer is neither allowed
// nor refused: a change that another verb covers does not need it, and a change that
// no verb covers is then an error, not a refusal. The cost of parameter expressions
// is bounded too, and each is evaluated once for a key.
//
// A refusal may depend on keys that the caller must not learn. Withhold removes
// everything from it that does.
//
// Invariant: Decide returns neither a refusal nor an error only if the authorizer
// allowed a verb for every change that must be covered, or for each value of it. The package knows no user
// and no resource, and keeps nothing between requests.
package decide
