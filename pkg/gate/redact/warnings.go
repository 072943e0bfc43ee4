// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/warning"
)

// Warnings is the warning recorder of a granular request. Upstream's warnings quote fields of the
// whole object, including fields that the caller did not send. So when the write begins, Hold is
// called, and from then on warnings are held back. When it is known whether the caller is allowed
// to get the object, Settle sends or drops them. Warnings before Hold concern only the body that
// the caller sent, and are sent at once.
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

// NewWarnings returns a recorder in front of the warning recorder of ctx. Until Hold is called, it
// passes every warning on at once.
func NewWarnings(ctx context.Context) *Warnings {
	return &Warnings{record: func(agent, text string) { warning.AddWarning(ctx, agent, text) }}
}

// AddWarning implements warning.Recorder.
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

// Hold holds warnings back from now on.
func (w *Warnings) Hold() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = held
}

// Held reports whether a warning is held back.
func (w *Warnings) Held() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held) > 0
}

// Settle ends the effect of Hold. If show is true, the held warnings and all later ones are passed
// on. If show is false, all of them are dropped.
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
