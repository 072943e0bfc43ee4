// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import "testing"

// TestCounts holds that violations are counted by attribute, that only those are subtracted that
// were written to a status, and that the counts of removed attributes are dropped.
func TestCounts(t *testing.T) {
	p := New()
	for _, n := range []string{"here", "gone"} {
		p.Observe(attribute("n", n, "env", 1), false)
		p.CountViolations("n", n)
	}
	p.Observe(attribute("", "here", "env", 1), false)
	p.CountViolations("", "here", "never")
	p.CountViolations("n", "here", "gone")
	want := func(what, namespace, of string, n int64) {
		t.Helper()
		if got := p.Violations(namespace, of); got != n {
			t.Errorf("%s: %d of %s/%s, wanted %d", what, got, namespace, of, n)
		}
	}
	want("counted", "n", "here", 2)
	want("counted", "n", "gone", 2)
	want("counted", "", "here", 1)
	want("of another namespace", "m", "here", 0)
	p.SubtractViolations("n", "here", 1)
	want("one was taken", "n", "here", 1)
	p.SubtractViolations("n", "here", 1)
	want("all were taken", "n", "here", 0)
	if len(p.counts.of) != 3 {
		t.Errorf("a count of nothing is kept: %v", p.counts.of)
	}
	p.CountViolations("n", "here")
	p.SubtractViolations("n", "here", 2)
	want("more were taken than there are", "n", "here", 0)
	if len(p.counts.of) != 3 {
		t.Errorf("%v are kept", p.counts.of)
	}
	p.CountViolations("n", "here")
	p.Observe(attribute("n", "gone", "env", 2), true)
	p.PruneViolations()
	want("it is there", "n", "here", 1)
	want("it is there", "", "here", 1)
	want("it went", "n", "gone", 0)
	want("it never was", "", "never", 0)
	if len(p.counts.of) != 2 {
		t.Errorf("%v are kept", p.counts.of)
	}
}
