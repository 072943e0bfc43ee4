// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// tally counts what was compared, and fails the test for each difference.
type tally struct {
	*testing.T
	calls, writes, repeated, different int
	// events are those of watches.
	events int
	by     map[string]int
	// equal has the identifiers of requests whose answers are equal.
	equal map[string]bool
}

func (t *tally) add(c call, leader answer, different map[string]string) {
	t.calls++
	if c.method != http.MethodGet && c.method != http.MethodHead {
		t.writes++
	}
	media := format(leader.header.Get("Content-Type"))
	if media == "" {
		media = "text"
	}
	t.by[fmt.Sprintf("%-6s %3d %s", c.method, leader.code, media)]++
	if len(different) == 0 && c.query.Get("hash") == "" { // see compare
		t.equal[c.id] = true
	}
	for _, follower := range slices.Sorted(maps.Keys(different)) {
		t.different++
		t.Errorf("%s, by %v, %s:\n%s", c, c.user, follower, different[follower])
	}
}

// report logs what was compared.
func (t *tally) report() {
	t.Logf("%d requests, of which %d write; %d answers differ; %d reads were repeated; watches had %d events", t.calls, t.writes,
		t.different, t.repeated, t.events)
	for _, what := range slices.Sorted(maps.Keys(t.by)) {
		t.Logf("%7d  %s", t.by[what], what)
	}
}

// compareAll compares what the servers noted of all requests.
func (t *tee) compareAll() {
	t.tally.Helper()
	t.mu.Lock() // controllers may still run
	defer t.mu.Unlock()
	t.tally.report()
	compareAudit(t.tally.T, t.servers, t.tally.equal)
	compareMetrics(t.tally.T, t.servers)
}
