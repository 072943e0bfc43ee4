// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/test/bench/requests/internal/stats"
)

// TestStore checks that load returns all runs that were stored in a file.
func TestStore(t *testing.T) {
	name := filepath.Join(t.TempDir(), "samples")
	var want []Run
	for i := range 2 {
		r := Run{Begun: time.Unix(int64(i), 0).UTC(), Idle: map[string]float64{"a": 0.01}, Load: [2]float64{1, 2},
			Samples: []Sample{{Case: "PUT", Side: "a", Server: "a", CPU: 1e6, Wall: 2e6, Latencies: []time.Duration{3}}},
			Counts:  []Count{{"PUT", "a", allocations, 7}}}
		want = append(want, r)
		if err := store(name, &r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := load(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none, err := load(filepath.Join(t.TempDir(), "none")); err != nil || none != nil {
		t.Errorf("of no file: %v, %v", none, err)
	}
}

func TestDeductIdle(t *testing.T) {
	r := Run{Idle: map[string]float64{"busy": 0.1},
		Samples: []Sample{{Server: "busy", CPU: 500, Wall: 1000}, {Server: "quiet", CPU: 500, Wall: 1000}}}
	r.deductIdle()
	if r.Samples[0].CPU != 400 || r.Samples[1].CPU != 500 {
		t.Errorf("%+v", r.Samples)
	}
}

// TestMatrix checks that a matrix has only rounds with samples of all sides, and does not mix runs.
func TestMatrix(t *testing.T) {
	run := func(samples ...Sample) Run { return Run{Samples: samples} }
	s := func(c, side string, round int, cpu float64) Sample {
		return Sample{Case: c, Side: side, Round: round, CPU: cpu}
	}
	got := matrix([]Run{
		run(s("x", "a", 0, 1), s("x", "b", 0, 2), s("y", "a", 0, 99), s("x", "b", 1, 4), s("x", "a", 1, 3), s("x", "a", 2, 5)),
		run(s("x", "b", 0, 7), s("x", "a", 0, 6)),
	}, "x", []string{"a", "b"}, cpu)
	if diff := cmp.Diff([]stats.Run{{{1, 2}, {3, 4}}, {{6, 7}}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAllTogether checks that ratios over several cases are geometric means: if a side costs twice
// as much in one case and half as much in another, its ratio is 1.
func TestAllTogether(t *testing.T) {
	var r Run
	for round := range 20 {
		for c, times := range map[string]float64{"x": 2, "y": 0.5} {
			for side, cpu := range map[string]float64{unpatched: 1e6, gateOn: times * 1e6} {
				r.Samples = append(r.Samples, Sample{Case: c, Side: side, Round: round, CPU: cpu, Median: cpu})
			}
		}
	}
	for _, f := range ratios([]Run{r, r}, []string{"x", "y"}, unpatched, gateOn) {
		if f.Value < 0.999 || f.Value > 1.001 || f.Low > f.Value || f.High < f.Value {
			t.Errorf("%s: %s", f.Name, f)
		}
	}
}

// TestReports checks the reported figures of a side that costs a tenth more than the baseline, while
// a policy costs a fifth more.
func TestReports(t *testing.T) {
	var r Run
	for round := range 10 {
		for _, x := range []struct {
			side string
			cpu  float64
		}{{byGrant, 1.1e6}, {byNothing, 1e6}, {byPolicy, 1.2e6}} {
			r.Samples = append(r.Samples, Sample{Case: "PUT", Side: x.side, Round: round, CPU: x.cpu, Median: x.cpu, Latencies: []time.Duration{time.Millisecond}})
		}
	}
	value := func(lines []Line, side, name string) float64 {
		for _, line := range lines {
			for _, f := range line.Figures {
				if line.Side == side && f.Name == name {
					return f.Value
				}
			}
		}
		t.Errorf("there is no %q of %q", name, side)
		return 0
	}
	near := func(what string, got, want float64) {
		if got < want*0.999 || got > want*1.001 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	near("ratio", value(reportWhole([]Run{r}), byGrant, "CPU ratio"), 1.1)
	added := reportAdded([]Run{r})
	near("added", value(added, byGrant, "adds CPU µs"), 100)
	near("of the policy's", value(added, byGrant, "of the policy's"), 0.5)
	near("latency", value(added, byGrant, "p50 ms"), 1)
}
