// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"context"
	"sync"

	"k8s.io/apiserver/pkg/warning"
)

// Warnings is the warning recorder of a granular request. Upstream's warnings quote fields of the
// whole object, including fields that the caller did not send. So from Hold on, while the object
// is written, warnings are held back until it is known whether the caller may get the object.
// Warnings before Hold concern only the body that the caller sent, and are recorded at once.
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

// NewWarnings returns a recorder that passes all warnings to the recorder of ctx until Hold is
// called.
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

// Settle records the held warnings and all later ones if show is set. Otherwise it drops them.
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
