// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// recheckInterval is how often a long-running request checks that its delegation is still valid.
const recheckInterval = time.Second

// untilRevoked returns a context for the request. If the request is long-running, such as a
// watch, a followed log or a connection, the context is cancelled when the selected delegation
// becomes invalid. upgrades is true if the request upgrades its connection, which may stay open for long
// whatever the resource is.
func (sel Selection) untilRevoked(ctx context.Context, u *User, upgrades bool) (context.Context, context.CancelFunc) {
	info, ok := request.RequestInfoFrom(ctx)
	if !upgrades && (!ok || !isLongRunning(info)) {
		return ctx, func() {}
	}
	chain, refusal := u.Chain(ctx, sel.Delegations)
	if refusal != nil {
		return ctx, func() {} // authorization refuses the request
	}
	ctx, cancel := context.WithCancel(ctx)
	go sel.cancelWhenRevoked(ctx, cancel, chain, u)
	return ctx, cancel
}

// isLongRunning reports whether a request may run for long.
func isLongRunning(info *request.RequestInfo) bool {
	switch info.Subresource {
	case "log", "exec", "attach", "portforward", "proxy":
		return true
	}
	return info.Verb == "watch" || info.Verb == "proxy"
}

// cancelWhenRevoked calls cancel once a chain is no longer valid, or the caller is no longer bound to the
// delegation that it was bound to.
func (sel Selection) cancelWhenRevoked(ctx context.Context, cancel context.CancelFunc, chain *delegation.Chain, u *User) {
	again := time.NewTicker(recheckInterval)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if u.bound != nil && sel.Bound.of(u.ambient) != u.bound {
				cancel()
				return
			}
			// It is not known yet whether the delegator exists: ask again at the next tick.
			if refusal := chain.RecheckAll(ctx, u.ambient); refusal != nil && refusal.Reason != delegation.DelegatorUnknown {
				cancel()
				return
			}
		}
	}
}
