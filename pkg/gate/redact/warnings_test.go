// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/warning"
)

// TestWarningsAreSettledOnce checks that held warnings are recorded once, and dropped warnings
// never.
func TestWarningsAreSettledOnce(t *testing.T) {
	for _, first := range []bool{true, false} {
		var got []string
		w := &Warnings{record: func(_, text string) { got = append(got, text) }}
		w.Hold()
		w.AddWarning("", "held")
		w.Settle(first)
		w.AddWarning("", "late")
		w.Settle(true)
		want := []string{"held", "late"}
		if !first {
			want = nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("shown first: %t, got %q", first, got)
		}
	}
}

// recorder is a warning recorder that keeps the warnings.
type recorder []string

func (r *recorder) AddWarning(agent, text string) { *r = append(*r, agent+": "+text) }

// TestWarningsReachTheCaller checks that a warning reaches the request's own recorder together
// with its agent, and that a nil Warnings, as in a request that is not granular, can be held and
// settled.
func TestWarningsReachTheCaller(t *testing.T) {
	var got recorder
	w := NewWarnings(warning.WithWarningRecorder(t.Context(), &got))
	w.AddWarning("server", "early")
	w.Hold()
	if w.Held() {
		t.Error("no warning is held back yet")
	}
	w.AddWarning("server", "held")
	if !w.Held() {
		t.Error("a warning is held back")
	}
	if want := []string{"server: early"}; !slices.Equal(got, want) {
		t.Errorf("while the object is written: %q, wanted %q", got, want)
	}
	w.Settle(true)
	if want := []string{"server: early", "server: held"}; !slices.Equal(got, want) || w.Held() {
		t.Errorf("in the end: %q, wanted %q", got, want)
	}
	var none *Warnings
	none.Hold()
	none.Settle(true)
	if none.Held() {
		t.Error("nothing holds a warning back")
	}
}
