// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"strings"
	"testing"
)

// TestChecker checks that the checker of this package finds each kind of mistake, and reports
// none where there is none.
func TestChecker(t *testing.T) {
	const object = apps + "d0"
	state := func(label, other string, replicas float64) step {
		return step{object: object, fields: map[string]any{
			"/metadata/labels/own.example.com|a": label, "/metadata/labels/other.example.com|a": other, "/spec/replicas": replicas,
		}}
	}
	start := state("r0", "r0", 0)
	own, scale := []string{"label own"}, []string{"replicas"}
	tests := map[string]struct {
		attempts []attempt
		history  []step
		says     string
	}{
		"fine": {
			[]attempt{{id: 1, user: "one-label", object: object, changes: own, status: 200},
				{id: 2, user: "one-label", object: object, changes: scale, status: 403}},
			[]step{start, state("r1", "r0", 0)}, "",
		},
		"refused but stored": {
			[]attempt{{id: 1, user: "one-label", object: object, changes: own, status: 403}},
			[]step{start, state("r1", "r0", 0)}, "was stored, although request 1",
		},
		"allowed but not covered": {
			[]attempt{{id: 1, user: "one-label", object: object, changes: scale, status: 200}},
			[]step{start, state("r0", "r0", 1)}, "who holds nothing that covers it",
		},
		"allowed and not stored": {
			[]attempt{{id: 1, user: "one-label", object: object, changes: own, status: 200}},
			[]step{start}, "in the history it is false",
		},
		"covered but refused": {
			[]attempt{{id: 1, user: "one-label", object: object, changes: own, status: 403}},
			[]step{start}, "and was refused",
		},
		"more was stored than was asked for": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 200}},
			[]step{start, state("r1", "r1", 0)}, "was not to write",
		},
		"two in one step": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 200},
				{id: 2, user: "labels", object: object, changes: []string{"label other"}, status: 200}},
			[]step{start, state("r1", "r2", 0)}, "what 2 requests wrote",
		},
		"something vanished": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 200}},
			[]step{start,
				{object: object,
					fields: map[string]any{"/metadata/labels/own.example.com|a": "r1",
						"/metadata/labels/other.example.com|a": "r0"}}}, "vanished",
		},
		"nobody wrote it": {
			nil, []step{start, state("x", "r0", 0)}, "nobody wrote",
		},
		"held before and after": {
			[]attempt{{id: 1, user: flipping, object: object, changes: scale, status: 403, before: 2, after: 2}},
			[]step{start}, "and was refused",
		},
		"held neither before nor after": {
			[]attempt{{id: 1, user: flipping, object: object, changes: scale, status: 200, before: 4, after: 4}},
			[]step{start, state("r0", "r0", 1)}, "may not change",
		},
		"taken away meanwhile": {
			[]attempt{{id: 1, user: flipping, object: object, changes: scale, status: 403, before: 2, after: 4}},
			[]step{start}, "",
		},
		"too late and stored": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 504}},
			[]step{start, state("r1", "r0", 0)}, "",
		},
		"too late and not stored": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 504}},
			[]step{start}, "",
		},
		"too late and not covered": {
			[]attempt{{id: 1, user: "labels", object: object, changes: scale, status: 504}},
			[]step{start, state("r0", "r0", 1)}, "who holds nothing that covers it",
		},
		"too late in etcd and not covered": {
			[]attempt{{id: 1, user: "labels", object: object, changes: scale, status: 500, answer: "etcdserver: request timed out"}},
			[]step{start, state("r0", "r0", 1)}, "who holds nothing that covers it",
		},
		"too late in etcd and not stored": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 500, answer: "etcdserver: request timed out"}},
			[]step{start}, "",
		},
		"an error of the server": {
			[]attempt{{id: 1, user: "labels", object: object, changes: own, status: 500, answer: "out of order"}},
			[]step{start}, "500 out of order",
		},
	}
	for name, tc := range tests {
		wrong := strings.Join(check(tc.attempts, tc.history), "\n")
		if (wrong == "") != (tc.says == "") || !strings.Contains(wrong, tc.says) {
			t.Errorf("%s: got %q, wanted %q", name, wrong, tc.says)
		}
	}
}
