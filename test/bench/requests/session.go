// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kube-granular.dev/test/bench/requests/internal/process"
)

// session is what the runs of one command share.
type session struct {
	*options
	stage *process.Stage
	log   io.Writer
	// silent has definitions say nothing of permissions.
	silent bool
}

// caller is the user whose requests are measured. What it may do differs by namespace.
const caller = "caller"

// measure starts a stage, makes the runs, stores them, and gives them with those stored
// before.
func (o *options) measure(ctx context.Context, log io.Writer, one func(context.Context, *session, *Run) error) (runs []Run, err error) {
	if o.samples != "" {
		if runs, err = load(o.samples); err != nil {
			return nil, err
		}
	}
	if o.runs == 0 {
		return runs, nil
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// Processes run elsewhere than here.
	for _, name := range []*string{&o.unpatched, &o.patched, &o.etcd} {
		if *name, err = filepath.Abs(*name); err != nil {
			return nil, err
		}
	}
	stage, err := process.NewStage(ctx, dir, o.etcd, caller, webhookUser)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stage.Stop()) }()
	s := &session{options: o, stage: stage, log: log}
	for i := range o.runs {
		s.say("run %d of %d", i+1, o.runs)
		run := Run{Begun: time.Now().UTC().Truncate(time.Second)}
		if run.Load[0], err = process.Load(); err != nil {
			return nil, err
		}
		if err := one(ctx, s, &run); err != nil {
			return nil, err
		}
		if run.Load[1], err = process.Load(); err != nil {
			return nil, err
		}
		if o.samples != "" {
			if err := store(o.samples, &run); err != nil {
				return nil, err
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (s *session) say(format string, args ...any) {
	fmt.Fprintf(s.log, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}

// config is that of a server by the name of what it runs with.
func (s *session) config(side string) process.Config {
	c := process.Config{Name: side, Binary: s.patched, MemoryLimit: s.memoryLimit}
	switch side {
	case unpatched, control:
		c.Binary = s.unpatched
	case gateOn:
		c.Gates = "GranularAuthorization=true"
	case protecting:
		c.Gates = "GranularAuthorization=true,ProtectedAttributes=true"
	case pruned:
		c.Gates = "PrunedFieldManagement=true"
	case compiled:
		c.Gates = "CompiledEquality=true"
	case cheaper:
		c.Gates = "PrunedFieldManagement=true,CompiledEquality=true"
	case allGates:
		c.Gates = "GranularAuthorization=true,PrunedFieldManagement=true,CompiledEquality=true"
	}
	return c
}

// start starts servers one after the other, so that none disturbs another's start. They
// are stopped when stop is called, and if one does not start.
func (s *session) start(ctx context.Context, sides ...string) (servers []*process.Server, stop func() error, err error) {
	stop = func() (err error) {
		for _, server := range servers {
			err = errors.Join(err, server.Stop())
		}
		return err
	}
	for _, side := range sides {
		server, err := s.stage.Start(ctx, s.config(side))
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		s.say("%s: ready after %s, %s of CPU", side, server.Readiness.Round(time.Millisecond), server.ReadinessCPU.Round(time.Millisecond))
		servers = append(servers, server)
	}
	return servers, stop, nil
}

// quiet are how long a server is watched at a time while it is idle, the share of a
// processor that one spends that has finished starting, and how often to look at most.
const (
	quietWindow = 3 * time.Second
	quietShare  = 0.05
	quietLooks  = 60
)

// settle waits until servers have finished what they do after their start.
func (s *session) settle(ctx context.Context, servers []*process.Server) error {
	var idle map[string]float64
	for range quietLooks {
		var err error
		if idle, err = idleShares(ctx, servers, quietWindow); err != nil {
			return err
		}
		busy := slices.ContainsFunc(servers, func(server *process.Server) bool { return idle[server.Name] > quietShare })
		if !busy {
			return nil
		}
	}
	return fmt.Errorf("servers do not become quiet: they spend %v of a processor with nothing to do", idle)
}

// idleShares measures what servers spend while nobody asks them anything.
func idleShares(ctx context.Context, servers []*process.Server, window time.Duration) (map[string]float64, error) {
	before := map[string]time.Duration{}
	begun := time.Now()
	for _, server := range servers {
		spent, err := server.CPU()
		if err != nil {
			return nil, err
		}
		before[server.Name] = spent
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(window):
	}
	out := map[string]float64{}
	for _, server := range servers {
		spent, err := server.CPU()
		if err != nil {
			return nil, err
		}
		out[server.Name] = float64(spent-before[server.Name]) / float64(time.Since(begun))
	}
	return out, nil
}

// sample interleaves cases, between two looks at what the servers spend while idle.
func (s *session) sample(ctx context.Context, servers []*process.Server, cases [][]*lane, run *Run) error {
	if err := s.settle(ctx, servers); err != nil {
		return err
	}
	before, err := idleShares(ctx, servers, 2*quietWindow)
	if err != nil {
		return err
	}
	s.say("measuring")
	if err := interleave(ctx, cases, s.rounds, func(x Sample) { run.Samples = append(run.Samples, x) }); err != nil {
		return err
	}
	after, err := idleShares(ctx, servers, 2*quietWindow)
	if err != nil {
		return err
	}
	run.Idle = map[string]float64{}
	for _, server := range servers {
		// A garbage collection that falls into one of them is none that turns pay for.
		run.Idle[server.Name] = min(before[server.Name], after[server.Name])
		s.say("%s: spends %.2f%% of a processor while idle", server.Name, 100*run.Idle[server.Name])
	}
	run.deductIdle()
	return nil
}
