// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain lets startWebhook run the test binary as the webhook.
func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// requestsReport runs a command with its arguments, and returns its report. The patched server
// replaces the unpatched one, which `make build` does not build.
func requestsReport(t *testing.T, args ...string) Report {
	t.Helper()
	bin, err := filepath.Abs("../../../bin")
	if err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(bin, "kube-apiserver")
	for _, name := range []string{server, filepath.Join(bin, "etcd")} {
		if _, err := os.Stat(name); err != nil {
			t.Fatalf("%s is missing, run `make build` first: %v", name, err)
		}
	}
	var out, log bytes.Buffer
	cmd := newCommand()
	// The servers collect garbage as usual: memory that is new costs more than the few requests.
	cmd.SetArgs(append(args, "--memory-limit=", "--unpatched="+server, "--patched="+server, "--etcd="+filepath.Join(bin, "etcd"),
		"--runs=1", "--rounds=2", "--warm=1", "--block=2", "-o=json"))
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if r.Machine.Runs != 1 || r.Machine.Processors == 0 {
		t.Errorf("machine: %+v", r.Machine)
	}
	return r
}

// figures returns the names of the figures of a side, and the number of lines of the side.
func figures(r Report, side string) (names []string, lines int) {
	for _, line := range r.Lines {
		if line.Side == side && line.Case != allTogether {
			lines++
			for _, f := range line.Figures {
				if !slices.Contains(names, f.Name) {
					names = append(names, f.Name)
				}
			}
		}
	}
	return names, lines
}

// TestSmoke checks that each command succeeds: every request has the expected status, every rule
// refuses a caller without the permission, and the report has the figures. It does not check the
// values, which mean nothing on a machine that does other work too.
func TestSmoke(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	for name, tc := range map[string]struct {
		args  []string
		cases int
		want  map[string][]string // by side
	}{
		"whole": {
			[]string{"whole", "--sides=unpatched,gate-on", "--counted=14"}, len(operations(namespace)),
			map[string][]string{
				unpatched: {"CPU ms", "p50 ms", "p99 ms", allocations, allocatedBytes},
				gateOn:    {"CPU ratio", "p50 ms", "p99 ms", allocations, allocatedBytes},
			},
		},
		"against": {
			// Four cases: pods and notes, each with a holder and a bystander.
			[]string{"against", "--servers=gate-on", "--bindings=3"}, 4,
			map[string][]string{
				byNothing:  {"CPU µs", "p50 ms"},
				byPolicy:   {"adds CPU µs", "adds p50 ms"},
				byWebhook:  {"adds CPU µs", "in its own process µs", "adds p50 ms"},
				byGrant:    {"adds CPU µs", "of the policy's", "of the webhook's", "adds p50 ms"},
				byExcluded: {"adds CPU µs", "of the policy's", "of the webhook's", "adds p50 ms"},
			},
		},
		"growth": {
			[]string{"growth", "--labels=1,100"}, 2,
			map[string][]string{
				ordinary:  {"CPU µs"},
				oneDomain: {"adds CPU µs", authorizerCalls, observeTime, verifyTime},
				anyLabel:  {"adds CPU µs", authorizerCalls, observeTime, verifyTime},
				tooMany:   {"adds CPU µs", authorizerCalls, observeTime, verifyTime},
			},
		},
		"bodies": {
			[]string{"bodies", "--only=labels", "--most=1000"}, 2,
			map[string][]string{
				ordinary:    {"CPU ms", "p50 ms"},
				nothingElse: {"CPU ratio", "p50 ms"},
			},
		},
		"changed": {
			[]string{"changed", "--sides=unpatched,gate-on"}, 2,
			map[string][]string{
				unpatched: {"p50 ms", "p90 ms"},
				gateOn:    {"p50 ms", "median of the differences ms"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := requestsReport(t, tc.args...)
			for side, want := range tc.want {
				got, lines := figures(r, side)
				for _, w := range want {
					if !slices.Contains(got, w) {
						t.Errorf("%s has no %q, only %q", side, w, got)
					}
				}
				if expected := tc.cases; lines != expected && !(side == byExcluded && lines == expected/2) {
					t.Errorf("%s has %d lines, want %d", side, lines, expected)
				}
			}
		})
	}
}

func TestUnknownOperation(t *testing.T) {
	s := &session{options: &options{only: []string{"no such operation"}}}
	if _, err := s.wholeCases(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no such operation") {
		t.Errorf("got error %v", err)
	}
}
