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

// Questions are those that are being asked. The zero value is ready to use.
type Questions struct {
	mu sync.Mutex
	// asked holds a channel for each question, which is closed when it is answered.
	pending map[question]chan struct{}
}

// question is one of one authorizer: two webhooks may answer the same differently, and so
// may one that was configured anew.
type question struct {
	authorizer any
	text       string
}

var _ granular.Questions = &Questions{}

// Ask implements granular.Questions. Only questions of the Gate wait: "granular" and the verbs
// of permissions. All others are asked as upstream asks them, at the same time and as often.
// Who waited is not waited for: if it finds no answer,
// those who waited with it ask beside it, as they would have without this package.
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
