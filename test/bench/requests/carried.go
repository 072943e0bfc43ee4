// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// The figures of a report about protected labels.
const (
	residentBefore = "resident before MB"
	residentGrowth = "resident growth at most MB"
	heapGrowth     = "heap growth after it MB"
	reportTook     = "took s"
	reportLines    = "lines"
)

func newCarried(o *options) *cobra.Command {
	objects, attributes, passes, program := 10000, 1000, 5, "bin/kube-granular"
	cmd := &cobra.Command{
		Use:   "carried",
		Short: "Measure how much the server's memory grows during a report about the protected labels in a namespace",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.memoryLimit = "" // the server collects garbage as usual
			program, err := filepath.Abs(program)
			if err != nil {
				return err
			}
			runs, err := o.measure(cmd.Context(), cmd.ErrOrStderr(), func(ctx context.Context, s *session, run *Run) error {
				return s.carried(ctx, program, objects, attributes, passes, run)
			})
			if err != nil {
				return err
			}
			var lines []Line
			for _, c := range countedCases(runs) {
				line := Line{Case: c, Side: protecting}
				for _, what := range []string{residentBefore, residentGrowth, heapGrowth, reportTook, reportLines} {
					counted := counts(runs, c, protecting, what)
					line.Figures = append(line.Figures, exact(what+", median", "%.1f", stats.Percentile(counted, 0.5)), exact("most", "%.1f", stats.Percentile(counted, 1)))
				}
				lines = append(lines, line)
			}
			return o.report(cmd.OutOrStdout(), "carried", runs, lines)
		},
	}
	cmd.Flags().IntVar(&objects, "objects", objects, "number of pods in the namespace")
	cmd.Flags().IntVar(&attributes, "attributes", attributes, "number of ProtectedAttributes in the namespace")
	cmd.Flags().IntVar(&passes, "passes", passes, "number of reports in a run, all by one server")
	cmd.Flags().StringVar(&program, "program", program, "path of the program kube-granular")
	return cmd
}

const carriedNamespace = "carried"

// carried measures how much the memory of a server grows during reports about protected labels. It
// creates pods, each with one protected label, on one server, and then starts another server for
// the reports. On the first server, the garbage from the creation of the pods would hide the
// growth.
func (s *session) carried(ctx context.Context, program string, objects, attributes, passes int, run *Run) (err error) {
	if err := s.makeCarried(ctx, objects, attributes); err != nil {
		return err
	}
	config := s.config(protecting)
	config.Name, config.Prefix = "reporting", protecting
	server, err := s.stage.Start(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, server.Stop) }()
	if err := s.settle(ctx, []*process.Server{server}); err != nil {
		return err
	}
	for range passes {
		if err := s.reportOnce(ctx, server, program, fmt.Sprintf("%d pods, %d attributes", objects, attributes), carriedNamespace, objects, run); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) makeCarried(ctx context.Context, objects, attributes int) (err error) {
	servers, stop, err := s.start(ctx, protecting)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, stop) }()
	a := administrator{servers[0].Client(process.Administrator)}
	const ns = carriedNamespace
	if err := a.namespace(ctx, ns, nil); err != nil {
		return err
	}
	key := func(i int) string { return fmt.Sprintf("a%d.example.org/x", i) }
	s.say("making %d pods", objects)
	const makers = 4
	var all []func() error
	for m := range makers {
		all = append(all, func() error {
			for i := m; i < objects; i += makers {
				name := fmt.Sprintf("pod-%d", i)
				made := pod(name)
				made.GetLabels()[key(i%attributes)] = "x"
				if _, err := a.Ensure(ctx, fmt.Sprintf(pods, ns), name, made); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := utilerrors.AggregateGoroutines(all...); err != nil {
		return err
	}
	for i := range attributes {
		name := fmt.Sprintf("a%d", i)
		if _, err := a.Ensure(ctx, authorityPath+"namespaces/"+ns+"/protectedattributes", name, map[string]any{
			"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "ProtectedAttribute", "metadata": map[string]any{"name": name},
			"spec": map[string]any{"attributeKind": "Label", "attributeName": key(i)}}); err != nil {
			return err
		}
	}
	return nil
}

// reportOnce makes one report, and measures how the server's memory grows meanwhile.
func (s *session) reportOnce(ctx context.Context, server *process.Server, program, c, ns string, objects int, run *Run) error {
	heapBefore, err := server.Heap(ctx)
	if err != nil {
		return err
	}
	before, err := server.Resident()
	if err != nil {
		return err
	}
	if err := server.ResetPeak(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "protected", "report", "--namespace="+ns, "-o=table",
		"--server="+server.URL(), "--certificate-authority="+s.stage.Files.CA, "--token="+process.Administrator)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%.600s", cmd, err, &log)
	}
	took := time.Since(begun)
	peak, err := server.Peak()
	if err != nil {
		return err
	}
	heapAfter, err := server.Heap(ctx)
	if err != nil {
		return err
	}
	lines := bytes.Count(out.Bytes(), []byte("\n")) - 1 // the first has the names of columns
	if lines < objects {
		return errors.New("the report lacks objects")
	}
	const mega = 1e6
	for what, value := range map[string]float64{
		residentBefore: float64(before) / mega, residentGrowth: float64(max(0, peak-before)) / mega,
		heapGrowth: (heapAfter - heapBefore) / mega, reportTook: took.Seconds(), reportLines: float64(lines),
	} {
		run.count(c, protecting, what, value)
	}
	return nil
}
