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

// Questions is the set of questions that are being asked. The zero value is ready to use.
type Questions struct {
	mu sync.Mutex
	// pending has a channel for each question, which is closed when the question is answered.
	pending map[question]chan struct{}
}

// question is a question to one authorizer. Two webhooks may answer the same question
// differently, and so may one webhook with a new configuration.
type question struct {
	authorizer any
	text       string
}

var _ granular.Questions = &Questions{}

// Ask implements granular.Questions. Only questions of the Gate wait: "granular" and the verbs
// of permissions. Nobody waits for a caller that has waited: if it finds no answer, it asks at
// the same time as the others that waited, as all would without this package.
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
