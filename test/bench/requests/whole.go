// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// The sides of the command whole: servers with different binaries and feature gates. control runs
// the same binary as unpatched.
const (
	unpatched = "unpatched"
	control   = "unpatched-again"
	gateOff   = "gate-off"
	gateOn    = "gate-on"
	pruned    = "pruned"
	compiled  = "compiled"
	cheaper   = "pruned-compiled"
	allGates  = "all"
)

var allSides = []string{unpatched, control, gateOff, gateOn, pruned, compiled, cheaper, allGates}

// namespace is the namespace of the requests of the command whole.
const namespace = "bench"

func newWhole(o *options) *cobra.Command {
	sides, counted := allSides, 0
	cmd := o.command("whole",
		"Compare servers: unpatched, the same binary again, all gates off, GranularAuthorization on with nothing configured, PrunedFieldManagement on, CompiledEquality on, the last two on, all three on",
		func(ctx context.Context, s *session, run *Run) error {
			return s.whole(ctx, sides, counted, run)
		},
		reportWhole)
	cmd.Flags().StringSliceVar(&sides, "sides", sides, "sides to compare")
	cmd.Flags().IntVar(&counted, "counted", 140, "number of requests over which allocations are counted; 0 does not count them")
	cmd.Flags().IntVar(&o.atATime, "at-a-time", 1, "number of concurrent requests, each for a different object")
	cmd.Flags().StringSliceVar(&o.only, "operations", nil, "operations to measure; empty means all")
	return cmd
}

// whole makes one run of the command whole.
func (s *session) whole(ctx context.Context, sides []string, counted int, run *Run) (err error) {
	servers, stop, err := s.start(ctx, sides...)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, stop) }()
	cases, err := s.wholeCases(ctx, servers)
	if err != nil {
		return err
	}
	if err := s.sample(ctx, servers, cases, run); err != nil {
		return err
	}
	s.say("counting allocations")
	for _, lanes := range cases {
		for _, l := range lanes {
			if err := countAllocations(ctx, l, counted, run); err != nil {
				return err
			}
		}
	}
	return nil
}

// wholeCases returns a case for each operation, with a side for each server.
func (s *session) wholeCases(ctx context.Context, servers []*process.Server) ([][]*lane, error) {
	operations := slices.DeleteFunc(operations(namespace), func(o operation) bool {
		return len(s.only) > 0 && !slices.Contains(s.only, o.name)
	})
	if len(operations) == 0 {
		return nil, fmt.Errorf("no operation has one of the names %q", s.only)
	}
	cases := make([][]*lane, len(operations))
	for _, server := range servers {
		if err := prepareWhole(ctx, server); err != nil {
			return nil, err
		}
		for i, o := range operations {
			l, err := o.lane(ctx, server, caller, fmt.Sprintf("object-%d", i), s.atATime)
			if err != nil {
				return nil, err
			}
			cases[i] = append(cases[i], l)
		}
	}
	return cases, nil
}

func prepareWhole(ctx context.Context, server *process.Server) error {
	a := administrator{server.Client(process.Administrator)}
	if err := a.namespace(ctx, namespace, nil); err != nil {
		return err
	}
	if err := a.define(ctx, widgetDefinition(), "widgets"); err != nil {
		return err
	}
	verbs := []string{"get", "create", "update", "patch"}
	if err := a.grant(ctx, namespace, 1, rule("", verbs, "pods", "configmaps"), rule("apps", verbs, "deployments"), rule(group, verbs, "widgets")); err != nil {
		return err
	}
	return may(ctx, server.Client(caller), fmt.Sprintf(pods, namespace)+"/none")
}

// The figures of a request that are counted.
const (
	allocations    = "allocations"
	allocatedBytes = "allocated bytes"
)

// countAllocations counts the allocations of the server for a request of a lane. It reads the
// counters of the server's Go runtime before and after some requests, and subtracts what the
// reading itself allocates. It does so in several batches and takes the median, because the
// background work of a server comes in bursts.
func countAllocations(ctx context.Context, l *lane, requests int, run *Run) error {
	const batches = 7
	if requests < batches {
		return nil
	}
	metrics := map[string]string{allocations: "go_memstats_mallocs_total", allocatedBytes: "go_memstats_alloc_bytes_total"}
	// grown returns, for each of several batches, by how much the counters grew over some requests.
	grown := func(requests, times int) (map[string][]float64, error) {
		out := map[string][]float64{}
		before, err := l.server.Metrics(ctx)
		for i := 0; err == nil && i < times; i++ {
			if _, err = l.block(ctx, 0, requests); err != nil {
				break
			}
			var after map[string]float64
			if after, err = l.server.Metrics(ctx); err != nil {
				break
			}
			for what, metric := range metrics {
				if after[metric] == 0 {
					return nil, fmt.Errorf("server %q has no metric %s", l.server.Name, metric)
				}
				out[what] = append(out[what], after[metric]-before[metric])
			}
			before = after
		}
		return out, err
	}
	readings, err := grown(0, batches)
	if err != nil {
		return err
	}
	counted, err := grown(requests/batches, batches)
	if err != nil {
		return err
	}
	for what := range metrics {
		each := (stats.Percentile(counted[what], 0.5) - stats.Percentile(readings[what], 0.5)) / float64(requests/batches)
		run.count(l.Case, l.Side, what, each)
	}
	return nil
}
