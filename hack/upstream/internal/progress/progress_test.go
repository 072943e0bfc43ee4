// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"
	"time"
)

func TestStep(t *testing.T) {
	for name, tt := range map[string]struct {
		total int
		each  time.Duration
		want  string
	}{
		"short":       {3, 100 * time.Millisecond, ""},
		"longer":      {3, 300 * time.Millisecond, "work: 3 of 3, done in 0.9 s\n"},
		"long":        {3, 1500 * time.Millisecond, "work: 2 of 3 (3 s)\nwork: 3 of 3, done in 4.5 s\n"},
		"not counted": {0, 0, "work ...\nwork: done in 0.0 s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			l := New(&out)
			now := time.Unix(0, 0)
			l.now = func() time.Time { return now }
			s := l.Step("work", tt.total)
			for range tt.total {
				now = now.Add(tt.each)
				s.Done()
			}
			s.End()
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
		})
	}
	var none *Log
	none.Say("nothing")
	s := none.Step("nothing", 1)
	s.Done()
	s.End()
}
