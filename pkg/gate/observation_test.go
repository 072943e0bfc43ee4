// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"slices"
	"testing"
)

// TestObservation checks which of the final changes count as the caller's. A change that nobody
// observed, or that could not be observed, counts whole.
func TestObservation(t *testing.T) {
	both := func(observed, final []string) (out []string) {
		for _, field := range final {
			if slices.Contains(observed, field) {
				out = append(out, field)
			}
		}
		return out
	}
	final := []string{"image", "replicas"}
	for name, tc := range map[string]struct {
		observe func(*observation[[]string])
		want    []string
	}{
		"never observed":       {func(*observation[[]string]) {}, final},
		"one field":            {func(o *observation[[]string]) { o.keep([]string{"image", "paused"}, nil) }, []string{"image"}},
		"nothing":              {func(o *observation[[]string]) { o.keep(nil, nil) }, nil},
		"it can't be":          {func(o *observation[[]string]) { o.keep(nil, errors.New("no schema")) }, final},
		"it can't be any more": {func(o *observation[[]string]) { o.keep(nil, nil); o.keep(nil, errors.New("no schema")) }, final},
	} {
		var o observation[[]string]
		tc.observe(&o)
		if got := o.intersect(final, both); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q are the caller's, want %q", name, got, tc.want)
		}
	}
}
