// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/warning"
)

// Warnings stands in front of the recorder of a granular request's warnings.
// Upstream's warnings quote fields of the whole object, those that the caller did
// not send among them. So they are held back while the object is written, until it
// is known whether the caller may get it. What comes before is about the body the
// caller sent and goes through.
type Warnings struct {
	record func(agent, text string)

	mu    sync.Mutex
	state holding
	held  [][2]string
}

type holding int

const (
	passing holding = iota
	held
	dropping
)

// NewWarnings returns what stands in front of the recorder of ctx, and does nothing yet.
func NewWarnings(ctx context.Context) *Warnings {
	return &Warnings{record: func(agent, text string) { warning.AddWarning(ctx, agent, text) }}
}

// AddWarning is called by upstream, wherever it has something to say.
func (w *Warnings) AddWarning(agent, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case passing:
		w.record(agent, text)
	case held:
		w.held = append(w.held, [2]string{agent, text})
	}
}

// Hold keeps warnings back from now on.
func (w *Warnings) Hold() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = held
}

// Settle lets them go, or forgets them and all to come.
func (w *Warnings) Settle(show bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = dropping
	if show {
		w.state = passing
		for _, warning := range w.held {
			w.record(warning[0], warning[1])
		}
	}
	w.held = nil
}
