// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide decides whether the permissions that a caller holds cover the changes of one
// write. The chain of a change lists all permissions above and at the changed field. Only some of
// them, the candidates, can cover the change. An exclamation mark stands for an excluded
// permission, which the ordinary verb update does not include:
//
//	chain of a change, general to specific       candidates
//	metadata > labels > label(a)                 all three
//	specification > guard! > guardMode           guard!, guardMode
//	specification > guard! > guardLock!          guard!, guardLock!
//
// A change is covered if the caller holds at least one candidate. If the chain has an excluded
// permission, an included permission above it is no candidate: otherwise a grant of specification
// would also cover a field that becomes excluded later. A permission below the last excluded
// permission is a candidate: it is a narrower grant of the same field.
//
// The parameter of some permissions is made from a value of the object. Such a permission covers a
// change only if the caller holds a verb for the old value and one for the new value.
//
// A marked request is one that passed because the caller holds the verb granular. Every change of
// a marked request must be covered. The caller of an unmarked request holds the ordinary verb, so
// only changes whose chain has an excluded permission must be covered.
//
// For one request, retries included, the package passes each verb to the authorizer at most once,
// and only a limited number of verbs. This bounds the work of the authorizer, however much the
// request changes. If the authorizer fails on a verb, the verb counts as neither allowed nor
// refused. A change that another verb covers is still allowed. A change that no other verb covers
// then leads to an error instead of a refusal. The total cost of parameter expressions is bounded
// too.
//
// A refusal may show keys that the caller must not learn, or depend on them. Refusal.Withhold
// returns a refusal that does neither.
//
// Invariant: if Decide returns no refusal and no error, the authorizer has allowed one verb for
// each change that must be covered, or one verb for each value of the change. The package knows no
// user and no resource, and keeps nothing between requests.
package decide
