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

// questions is what a write asks the authorizer, and what it keeps of the answers.
type questions struct {
	adapter authorizerAdapter
	decider decide.Decider
	// query is the query of the earlier questions, nil if there were none.
	query *rbacindex.Query
}

// callerChange is the caller's own change in the current attempt.
type callerChange struct {
	// observed is the caller's change before mutating admission. If it is not known, it is nil
	// and everything is set: then all that is to be stored counts as the caller's.
	observed   change.Set
	everything bool
	// tampered is set if the caller edited managed fields.
	tampered bool
	// owned is set if the object of a marked request had managed fields in some attempt, after
	// field management. If they are missing later, upstream dropped them.
	owned bool
	// patch is the patch that the caller sent, nil for an update or an apply.
	patch *redact.Body
}

// response is the result for the caller, and what it depends on. A request that took too long is
// answered while it is still running, so some of it is read and written concurrently.
type response struct {
	// verdict is the result of the latest Verify.
	verdict atomic.Pointer[verdict]
	// createRefused is set if upstream refused the create that an update implies.
	createRefused atomic.Bool
	// readable is whether the caller may get the object, nil until asked.
	readable atomic.Pointer[bool]
	// warnings are those of a marked request, held back until readable is known.
	warnings *redact.Warnings
	// missing are the verbs that would have covered the last refused change.
	missing []string
	// unanswered is set if neither Respond nor RespondError will be called.
	unanswered bool
}

// verdict is the result of one attempt. It is the result of the request unless a later attempt
// follows: the storage first tries with its cached object, and again with the stored one.
type verdict struct {
	err     error
	missing []string
	calls   int
}
