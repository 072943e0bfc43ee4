// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide decides whether the permissions that a caller holds cover the changes of one
// write. The chain of a change has all permissions for the changed field. The candidates are those
// permissions of the chain of which one suffices to make the change:
//
//	chain of a change, general to specific       candidates
//	metadata > labels > label(a)                 all three
//	specification > guard! > guardMode           guard!, guardMode
//	specification > guard! > guardLock!          guard!, guardLock!
//
// (! marks an excluded permission, one that update does not include.) A change is covered by the
// first of its candidates that the caller holds. If the chain has an excluded permission, a more
// general permission is a candidate only if it is excluded itself. Without this rule, a grant of
// specification would cover a field that is made excluded later. A permission below the last
// excluded permission is a narrower grant within that excluded permission, so it is a candidate
// too. That is not so if an excluded permission of the chain comes from an entry, which an
// administrator added to the schema: the author chose the permissions below before, for a field
// that was open, and holders of update may grant some of them to themselves.
//
// A permission whose parameter is made from a value covers a change only if the caller holds a
// verb of this permission for the old and for the new value.
//
// A request is marked if its caller does not hold the ordinary verb: every change must then be
// covered. An unmarked request, whose caller holds the ordinary verb, must be covered only for
// changes whose chain has an excluded permission.
//
// An entry can be embedded: it is one for pods, and holds in a pod template of another kind. If entries
// of both sorts exclude a field, a candidate of each sort is needed, so that nobody opens what another
// administrator closed:
//
//	specification > podTemplate > net! > acme.io/podTemplateNet! (embedded)     one of each sort
//
// For one request, retries included, the authorizer is asked for each verb at most once, and only
// for a limited number of verbs. So its work is bounded, however much the request changes. A verb
// that the authorizer could not answer is neither allowed nor refused: a change that another verb
// covers does not need it, and a change that no verb covers is then an error, not a refusal. The
// cost of parameter expressions is bounded too, and each expression is evaluated once for a key.
//
// A refusal can depend on keys that the caller must not learn. Withhold removes from the refusal
// everything that depends on such keys.
//
// Invariant: Decide returns neither a refusal nor an error only if the authorizer allowed a verb
// for every change that must be covered, or for each value of the change. The package knows no
// user and no resource, and keeps nothing between requests.
package decide
