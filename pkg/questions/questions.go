// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/permission"
)

// Questions is the set of authorization checks that webhooks are answering now. The zero value is
// ready to use.
type Questions struct {
	mu sync.Mutex
	// pending has a channel for each check in progress. The channel is closed when the check is
	// answered.
	pending map[question]chan struct{}
}

// question identifies a check that is sent to one authorizer. The authorizer is part of it,
// because two webhooks can decide the same check differently, and a new configuration makes new
// authorizers. text is the check as the authorizer's cache identifies it.
type question struct {
	authorizer any
	text       string
}

var _ granular.Questions = &Questions{}

// Ask implements granular.Questions. If no other caller is making the same check, Ask returns at
// once, and other callers with this check wait until the first one calls answered. Otherwise Ask
// waits for that call, or until ctx ends. Only checks of the verb "granular" and of permission
// verbs, such as "granular:labels", wait.
//
// A caller that waited, and then finds no decision in the authorizer's cache, makes the check
// itself, and nobody waits for it. All callers that waited can do so at the same time, as they
// would without this package.
func (q *Questions) Ask(ctx context.Context, authorizer any, verb, text string) (answered func()) {
	if !permission.IsVerb(verb) {
		return func() {}
	}
	key := question{authorizer, text}
	q.mu.Lock()
	others, asked := q.pending[key]
	if asked {
		q.mu.Unlock()
		select {
		case <-others:
		case <-ctx.Done():
		}
		return func() {}
	}
	mine := make(chan struct{})
	if q.pending == nil {
		q.pending = map[question]chan struct{}{}
	}
	q.pending[key] = mine
	q.mu.Unlock()
	return func() {
		q.mu.Lock()
		delete(q.pending, key)
		q.mu.Unlock()
		close(mine)
	}
}
