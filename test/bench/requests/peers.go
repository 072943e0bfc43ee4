// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// newPeers returns the command peers. It measures the delay until one server enforces an attribute
// that was created by another server.
func newPeers(o *options) *cobra.Command {
	tries, writers := 1000, 4
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "Measure the time from the creation of an attribute by one server until another server enforces it, while both servers handle writes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			runs, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, s *session, run *Run) error {
				return s.peers(ctx, tries, writers, run)
			})
			if err != nil {
				return err
			}
			var lines []Line
			for _, c := range countedCases(runs) {
				delays := counts(runs, c, protecting, peerDelay)
				line := Line{Case: c, Side: protecting, Figures: []Figure{exact("tries", "%.0f", float64(len(delays)))}}
				for _, p := range []struct {
					name string
					of   float64
				}{{"p50 ms", 0.5}, {"p90 ms", 0.9}, {"p99 ms", 0.99}, {"most ms", 1}} {
					line.Figures = append(line.Figures, exact(p.name, "%.1f", stats.Percentile(delays, p.of)))
				}
				line.Figures = append(line.Figures, exact("one write p50 ms", "%.1f", stats.Percentile(counts(runs, c, protecting, peerWrite), 0.5)))
				lines = append(lines, line)
			}
			return o.report(cmd.OutOrStdout(), "peers", runs, lines)
		},
	}
	cmd.Flags().IntVar(&tries, "tries", tries, "number of attributes to create")
	cmd.Flags().IntVar(&writers, "writers", writers, "number of clients that write to each server all the time")
	return cmd
}

// The figures of the command peers, in milliseconds.
const (
	peerDelay = "delay"
	peerWrite = "write"
)

// peers runs two servers that share their storage. It creates attributes by one server, and writes
// to the other one until that server refuses a write. The delay is the time from the answer to the
// creation until the start of the refused write. So it includes the rest of the write that was
// running when the answer came.
func (s *session) peers(ctx context.Context, tries, writers int, run *Run) (err error) {
	var servers []*process.Server
	for _, name := range []string{"first", "second"} {
		c := s.config(protecting)
		c.Name, c.Prefix = name, "peers"
		server, err := s.stage.Start(ctx, c)
		if err != nil {
			return err
		}
		defer func() { err = joined(err, server.Stop) }()
		servers = append(servers, server)
	}
	first, second := administrator{servers[0].Client(process.Administrator)}, servers[1].Client(caller)
	const ns = "peers"
	if err := errors.Join(first.namespace(ctx, ns, nil), first.grant(ctx, ns, 1, rule("", []string{"get", "update"}, "configmaps"))); err != nil {
		return err
	}
	collection := fmt.Sprintf(configMaps, ns)
	tried := configMap("tried")
	if _, err := first.Ensure(ctx, collection, "tried", tried); err != nil {
		return err
	}
	for _, server := range servers {
		if err := may(ctx, server.Client(caller), collection+"/none"); err != nil {
			return err
		}
	}
	loaded, unload := context.WithCancel(ctx)
	var wait []<-chan error
	for i, server := range servers {
		for j := range writers {
			name := fmt.Sprintf("load-%d-%d", i, j)
			live, err := first.Ensure(ctx, collection, name, configMap(name))
			if err != nil {
				unload()
				return err
			}
			st, done := put(collection+"/"+name), make(chan error, 1)
			st.live = live
			wait = append(wait, done)
			client := server.Client(caller)
			go func() {
				for {
					if _, err := st.send(loaded, client); err != nil {
						if loaded.Err() != nil {
							err = nil
						}
						done <- err
						return
					}
				}
			}()
		}
	}
	defer func() {
		unload()
		for _, done := range wait {
			err = errors.Join(err, <-done)
		}
	}()
	c := fmt.Sprintf("%d writers on each of two servers", writers)
	for i := range tries {
		if err := peerTry(ctx, first, second, collection, tried.GetLabels(), i, func(what string, took time.Duration) {
			run.count(c, protecting, what, float64(took)/float64(time.Millisecond))
		}); err != nil {
			return err
		}
	}
	return nil
}

// peerTry creates one attribute, and measures the delay.
func peerTry(ctx context.Context, first administrator, second *process.Client, collection string, labels map[string]string, n int, count func(string, time.Duration)) error {
	key := fmt.Sprintf("try-%d.example.org/x", n)
	sent := configMap("tried")
	sent.SetLabels(map[string]string{key: "x"})
	maps.Copy(sent.GetLabels(), labels)
	write := func() (refused bool, begun time.Time, err error) {
		begun = time.Now()
		status, answer, err := second.Put(ctx, collection+"/tried?dryRun=All", sent)
		if err == nil && status != http.StatusOK && status != http.StatusForbidden {
			err = fmt.Errorf("%d %s", status, answer)
		}
		return status == http.StatusForbidden, begun, err
	}
	refused, begun, err := write()
	if err == nil && refused {
		err = errors.New("the write was refused before the attribute was created")
	}
	if err != nil {
		return err
	}
	count(peerWrite, time.Since(begun))
	acknowledged, failed := make(chan time.Time, 1), make(chan error, 1)
	go func() {
		err := first.protect(ctx, fmt.Sprintf("try-%d", n), map[string]any{"attributeKind": "Label", "attributeName": key})
		acknowledged <- time.Now()
		failed <- err
	}()
	deadline := time.Now().Add(patience)
	for !refused {
		if refused, begun, err = write(); err != nil {
			return errors.Join(err, <-failed)
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("the other server did not enforce the attribute before the timeout"), <-failed)
		}
	}
	if err := <-failed; err != nil {
		return err
	}
	count(peerDelay, max(0, begun.Sub(<-acknowledged)))
	status, answer, _, err := first.Do(ctx, http.MethodDelete, fmt.Sprintf(authorityPath+"clusterprotectedattributes/try-%d", n), "", nil)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("delete: %d %s", status, answer)
	}
	return err
}
