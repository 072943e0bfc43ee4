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

// questions are what a write asks the authorizer, and what is kept of the answers.
type questions struct {
	adapter authorizerAdapter
	decider decide.Decider
	// query is what the questions before were asked under, nil if there were none.
	query *rbacindex.Query
}

// sent is the caller's own part of the attempt under way.
type callerChange struct {
	// observed is the caller's own change. It is nil with everything set: then all
	// that is to be stored counts as the caller's.
	observed   change.Set
	everything bool
	// tampered is set where the caller edited managed fields by hand.
	tampered bool
	// owned is set where the object of a marked request had managed fields in some
	// attempt, after field management. If they are gone later, upstream dropped them.
	owned bool
	// patch is what the caller sent, nil if that was an object, whole or applied.
	patch *redact.Body
}

// answer is what the caller is told, and what that depends on. A request that took too long
// is answered while it is still under way, so some of it is read and written at the same
// time.
type response struct {
	// verdict is that of the latest Verify.
	verdict atomic.Pointer[verdict]
	// createRefused is set where upstream refused the create that an update implies.
	createRefused atomic.Bool
	// readable is whether the caller may get the object, once that was asked.
	readable atomic.Pointer[bool]
	// warnings are those of a marked request, held back until readable is known.
	warnings *redact.Warnings
	// missing is what would have covered the change that was refused last.
	missing []string
	// unanswered is set where nobody will ask this write for a response.
	unanswered bool
}

// verdict is the end of one attempt. It is that of the request only if no later
// attempt comes to another: the storage first tries with what it remembers of the
// object, and again with what there is.
type verdict struct {
	err     error
	missing []string
	calls   int
}
