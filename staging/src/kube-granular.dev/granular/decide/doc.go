// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide says whether the permissions a caller holds cover the changes
// of one write.
//
//	chain of a change, general to specific       candidates
//	metadata > labels > label(a)                 all three
//	specification > guard! > guardMode           guard!, guardMode
//	specification > guard! > guardLock!          guard!, guardLock!
//
// (! is excluded.) A change is covered by the first of its candidates the caller
// holds. Where the chain has an excluded permission, what encloses it covers only
// if it is excluded itself: otherwise yesterday's grant of specification would
// hold tomorrow's excluded field. What lies below the last excluded one is a
// narrower grant within it and covers as well.
//
// A marked request needs a cover for every change; an unmarked one, whose caller
// holds the ordinary verb, only where a chain has an excluded permission.
//
// Nobody is asked a verb twice for one request, retries included, and there is a
// budget of verbs: what a request costs the authorizer is bounded however much
// it changes. A verb that the authorizer could not answer is neither allowed nor
// refused: a change that another verb covers does not need it, and one that no
// verb covers is an error then, not a refusal. What a request's parameter expressions
// cost is bounded too, each of them evaluated once for a key.
//
// What a refusal says may depend on keys that the caller must not learn: Withhold leaves
// of it what does not.
//
// The invariant: Decide gives neither a refusal nor an error only if every change
// that needs a cover has one that the authorizer itself allowed. The package
// knows no user and no resource, keeps nothing between requests and words no more
// of a message than the library knows.
package decide
