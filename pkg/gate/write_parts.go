// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"sync/atomic"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/rbacindex"
)

// questions asks the authorizer for a write, and keeps what the next checks of the same write can
// reuse.
type questions struct {
	adapter authorizerAdapter
	decider decide.Decider
	// query holds what RBAC read for earlier checks of the request. It is nil if there were none.
	query *rbacindex.Query
}

// callerChange is the caller's own change in the current attempt.
type callerChange struct {
	// observed is the caller's change before mutating admission. If that change is not known,
	// observed is nil and everything is set: then everything that is about to be stored counts as
	// the caller's change.
	observed   change.Set
	everything bool
	// tampered is set if the caller edited managed fields.
	tampered bool
	// owned is set if the object of a marked request had managed fields in some attempt, after
	// field management. If the managed fields are missing later, upstream dropped them.
	owned bool
	// patch is the patch that the caller sent, nil for an update or an apply.
	patch *redact.Body
}

// response is the result for the caller, and what that result depends on. A request that took too
// long is answered while it is still running, so some fields are read and written concurrently.
type response struct {
	// verdict is the result of the latest Verify.
	verdict atomic.Pointer[verdict]
	// createRefused is set if upstream refused the create that an update implies.
	createRefused atomic.Bool
	// readable is whether the caller may get the object. It is nil until the authorizer was
	// asked.
	readable atomic.Pointer[bool]
	// warnings are the warnings of a marked request, which are held back until readable is known.
	warnings *redact.Warnings
	// missing are the verbs that would have covered the last refused change.
	missing []string
	// unanswered is set if neither Respond nor RespondError will be called, so Verify must report
	// the result itself.
	unanswered bool
}

// verdict is the result of one attempt. It is the result of the request unless a later attempt
// follows: the storage may try with a cached object first, and then with the stored one.
type verdict struct {
	err     error
	missing []string
	calls   int
}
