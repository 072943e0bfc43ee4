// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"sync"
)

// warnings collects the warnings of the server. It implements rest.WarningHandlerWithContext.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext adds one warning.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.texts
	w.texts = nil
	return out
}
