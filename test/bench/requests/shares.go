// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
)

func newShares(o *options) *cobra.Command {
	resource, bindings, duration, hertz := "pods", 1, 30*time.Second, 1999
	cmd := o.command("shares",
		"Compare the CPU time that permissions and a policy add, from perf profiles of the server; each run records each of them once",
		func(ctx context.Context, s *session, run *Run) error {
			return s.shares(ctx, resource, bindings, duration, hertz, run)
		},
		reportShares)
	cmd.Flags().StringVar(&resource, "resource", resource, "pods or notes: a built-in kind or a custom resource")
	cmd.Flags().IntVar(&bindings, "bindings", bindings, "number of role bindings in the namespace")
	cmd.Flags().DurationVar(&duration, "duration", duration, "how long each turn is recorded")
	cmd.Flags().IntVar(&hertz, "hertz", hertz, "samples in a second")
	return cmd
}

// turn is one recording of a server's CPU profile. by is the way in which the rule is in force
// during the recording. The recorded requests are those of a caller with the permission.
type turn struct{ server, by string }

func (t turn) String() string { return t.server + ": " + t.by }

// turnsOf returns the recordings of one run. Permissions need the server gateOn, which authorizes
// single fields. A policy is measured both on gateOn and on the unpatched server. For pods there
// is no recording with an excluded permission (one that update does not include), because no
// permission of a built-in kind is excluded.
func turnsOf(resource string) []turn {
	turns := []turn{{unpatched, byPolicy}, {unpatched, byNothing}, {gateOn, byGrant}, {gateOn, byPolicy}, {gateOn, byNothing}}
	if resource != "pods" {
		turns = append(turns, turn{gateOn, byExcluded})
	}
	return turns
}

// shares makes the recordings of one run, each on a server and an etcd of its own, so that no rule
// of another recording is in force.
func (s *session) shares(ctx context.Context, resource string, bindings int, duration time.Duration, hertz int, run *Run) error {
	for _, t := range turnsOf(resource) {
		spent, err := s.turn(ctx, t, resource, bindings, duration, hertz)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		for _, one := range parts {
			run.count(fmt.Sprintf("PUT %s, holder, %d role bindings", resource, bindings), t.String(), string(one), spent[one])
		}
	}
	return nil
}

// turn starts the server of a turn with an etcd of its own, and records its CPU profile while the
// caller's requests run. It returns the CPU time that a request takes in each part of the server's
// work, in microseconds.
func (s *session) turn(ctx context.Context, t turn, resource string, bindings int, duration time.Duration, hertz int) (spent map[part]float64, err error) {
	dir, err := os.MkdirTemp(s.stage.Dir, "turn")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	stage, err := process.NewStage(ctx, dir, s.etcd, caller, webhookUser)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.Stop()) }()
	alone := &session{options: s.options, stage: stage, log: s.log}
	file := filepath.Join(dir, "perf.data")
	requests, err := alone.profile(ctx, t.server, t.by, resource, bindings, recording{file, duration, hertz})
	if err != nil {
		return nil, err
	}
	spent = map[part]float64{}
	known := map[string]marks{}
	err = process.Stacks(ctx, file, func(frames []string) {
		spent[partOf(frames, known)] += 1e6 / float64(hertz) / requests
	})
	return spent, err
}
