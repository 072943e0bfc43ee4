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

// questions has what a write needs to ask the authorizer, and keeps answers that later checks for
// the same write can reuse.
type questions struct {
	adapter authorizerAdapter
	decider decide.Decider
	// query holds the bindings and rules that RBAC read for earlier checks of the request. It is
	// nil if there were no earlier checks.
	query *rbacindex.Query
	// bypass tells for a FieldPermission whether the caller is exempt from its exclusions. It has those for
	// which the authorizer has answered that.
	bypass map[string]bool
}

// callerChange is the caller's own change in the current attempt.
type callerChange struct {
	observation[change.Set]
	// seen is set for a marked request whose change was observed, and not verified yet.
	seen *pair
	// admitted is what mutating admission left.
	admitted admitted
	// tampered is set if the caller edited or reset metadata.managedFields.
	tampered bool
	// owned is set if the new object of a marked request had managed fields when it was observed,
	// in this or an earlier attempt. If the object to be stored has none, upstream dropped them.
	owned bool
	// patch is the patch that the caller sent, nil for an update or an apply.
	patch *redact.Body
}

// response has what decides the response to the caller. If a request takes too long, the server
// responds while the request is still running. So some fields are read and written concurrently.
type response struct {
	// verdict is the result of the latest Verify.
	verdict atomic.Pointer[verdict]
	// createRefused is set if the update needs a create that the caller is not allowed to make.
	// Upstream then refuses the request.
	createRefused atomic.Bool
	// readable is true if the caller is allowed to get the object. The pointer is nil until the
	// authorizer was asked.
	readable atomic.Pointer[bool]
	// scaled is true if the caller is allowed to get the object whose scale the request writes. The pointer is nil until
	// the authorizer was asked.
	scaled atomic.Pointer[bool]
	// warnings are the warnings of a marked request, which are held back until readable is known.
	warnings *redact.Warnings
	// missing are the verbs that would have covered the last refused change.
	missing []string
	// refusal is the last refusal.
	refusal *decide.Refusal
	// unanswered is set if neither Respond nor RespondError will be called for this write. Then
	// Verify writes the result to the metrics and the audit log itself.
	unanswered bool
}

// verdict is the result of verifying one attempt to store the object. If the storage makes another
// attempt, the next verdict replaces this one: the storage can try with a cached object first, and
// then with the stored one.
type verdict struct {
	err     error
	missing []string
	calls   int
}
