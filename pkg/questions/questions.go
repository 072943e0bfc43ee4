// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/permission"
)

// Questions is the set of authorization checks in progress. The zero value is ready to use.
type Questions struct {
	mu sync.Mutex
	// pending has a channel for each check, which is closed when the check is answered.
	pending map[question]chan struct{}
}

// question is a check by one authorizer. The authorizer is part of the key, because two webhooks
// may decide differently, and so may one webhook with a new configuration.
type question struct {
	authorizer any
	text       string
}

var _ granular.Questions = &Questions{}

// Ask implements granular.Questions. It waits while another caller makes the same check. Only
// checks of the Gate wait: of the verb "granular" and of permission verbs. If a caller finds no
// decision after it has waited, it makes the check without blocking others, at the same time as
// all others that waited. Without this package all of them would check at once as well.
func (q *Questions) Ask(ctx context.Context, authorizer any, verb, text string) (answered func()) {
	if verb != permission.General && !strings.HasPrefix(verb, permission.General+":") {
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
