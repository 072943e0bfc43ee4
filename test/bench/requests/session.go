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

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
)

// session has the state that all runs of one command share.
type session struct {
	*options
	stage *process.Stage
	log   io.Writer
	// silent is true if the CustomResourceDefinitions of the command definitions have no permissions.
	silent bool
}

// caller is the user whose requests are measured. It has different permissions in each namespace.
const caller = "caller"

// command returns a command that measures runs and reports them. one makes a single run.
func (o *options) command(
	name, short string, one func(context.Context, *session, *Run) error, lines func([]Run) []Line,
) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), one)
			if err != nil {
				return err
			}
			return o.report(cmd.OutOrStdout(), name, runs, lines(runs))
		},
	}
}

// measure starts a stage (the etcd and the files that servers share), makes the runs and stores
// them in the file o.samples. one makes a single run. measure returns the runs that were already
// in that file, followed by the new runs.
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
	// The processes have another working directory.
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

// config returns the configuration of the server for a side.
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

// start starts the servers of some sides one after the other, so that no server slows the start of
// another one. stop stops all of them. If a server does not start, start stops the others itself.
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

// The parameters of settle: the duration of one observation, the largest share of a processor that
// a server uses after it has finished starting, and the maximum number of observations.
const (
	quietWindow = 3 * time.Second
	quietShare  = 0.05
	quietLooks  = 60
)

// settle waits until the servers have finished the work after their start.
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
	return fmt.Errorf("the servers do not become idle: without requests, they use these shares of a processor: %v", idle)
}

// idleShares measures the CPU time that servers spend without requests, as a share of a processor.
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

// sample measures the cases. Before and after that, it measures the CPU time of the idle servers.
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
		// A garbage collection during one of the two measurements makes its value larger, so the
		// smaller value is used.
		run.Idle[server.Name] = min(before[server.Name], after[server.Name])
		s.say("%s: spends %.2f%% of a processor while idle", server.Name, 100*run.Idle[server.Name])
	}
	run.deductIdle()
	return nil
}
