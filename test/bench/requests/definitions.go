// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

func newDefinitions(o *options) *cobra.Command {
	sizes, sides, profiles, silent := []int{10, 500}, startSides, "", false
	cmd := o.command("definitions",
		"Start servers with many CustomResourceDefinitions that have permissions, and measure the time to readiness, memory and first writes",
		func(ctx context.Context, s *session, run *Run) error {
			s.silent = silent
			return s.definitions(ctx, sizes, sides, profiles, run)
		},
		func(runs []Run) []Line { return reportDefinitions(runs, sizes, sides) })
	cmd.Flags().IntSliceVar(&sizes, "definitions", sizes, "numbers of definitions to measure, in ascending order")
	cmd.Flags().StringSliceVar(&sides, "sides", sides, "sides to compare; unpatched must be the first")
	cmd.Flags().BoolVar(&silent, "silent", false, "use definitions without permissions")
	cmd.Flags().StringVar(&profiles, "profiles", "", "folder for heap profiles of the servers when they are ready and after the writes; GODEBUG=memprofilerate=4096 makes them finer")
	return cmd
}

// The figures of a start. The heap is measured after a garbage collection. At the first write to a
// kind, the server creates the handler of the kind and, if the gate GranularAuthorization is on,
// its permission tree: the tree of the kind's fields, with the permission that each field needs.
const (
	readiness    = "ready after s"
	readinessCPU = "CPU until ready s"
	// Figures of a server that has become idle. A ready server is not yet idle: it still builds
	// much of its published API description. Of these figures, counts of allocations vary least
	// between two starts.
	quietCPU       = "CPU until quiet s"
	quietAllocated = "allocated until quiet MiB"
	quietObjects   = "allocations until quiet, thousands"
	heapBefore     = "heap MiB"
	resident       = "resident MiB"
	firstWrite     = "first write to a kind ms"
	nextWrite      = "next write ms"
	heapAfter      = "heap MiB after writes"
)

var startFigures = []string{readiness, readinessCPU, quietCPU, quietAllocated, quietObjects, heapBefore, resident, firstWrite, nextWrite, heapAfter}

var startSides = []string{unpatched, control, gateOff, gateOn}

// vast is the namespace of the written objects.
const vast = "definitions"

// definitions makes one run of the command definitions. For each number of definitions, it starts
// the servers of all sides one after the other. Each number has its own key space in etcd.
func (s *session) definitions(ctx context.Context, sizes []int, sides []string, profiles string, run *Run) error {
	for _, n := range sizes {
		if err := s.populate(ctx, n); err != nil {
			return fmt.Errorf("make %d definitions: %w", n, err)
		}
		for _, side := range sides {
			if err := s.startWith(ctx, side, n, profiles, run); err != nil {
				return fmt.Errorf("%s with %d definitions: %w", side, n, err)
			}
		}
	}
	return nil
}

func (s *session) startVast(ctx context.Context, side string, n int) (*process.Server, error) {
	c := s.config(side)
	c.Prefix = vastPrefix(n)
	return s.stage.Start(ctx, c)
}

func (s *session) vastDefinition(i int) (plural string, object map[string]any) {
	fields := map[string]any{}
	for j := range 20 {
		fields[fmt.Sprintf("f%d", j)] = map[string]any{"type": "string"}
	}
	size, owner := map[string]any{"type": "integer"}, map[string]any{"type": "string"}
	spec := map[string]any{"type": "object", "properties": fields}
	fields["size"], fields["owner"] = size, owner
	if !s.silent {
		size["x-kubernetes-permission-verb"], owner["x-kubernetes-permission-verb"] = group+"/size", group+"/owner"
		owner["x-kubernetes-permission-excluded"], spec["x-kubernetes-permission-verb"] = true, "specification"
	}
	plural = fmt.Sprintf("kinds%d", i)
	return plural, definition(fmt.Sprintf("Kind%d", i), plural, spec)
}

// populate creates one definition by a server, and the other definitions as copies in etcd, because
// creating thousands of them by a server takes longer than the whole measurement.
func (s *session) populate(ctx context.Context, n int) error {
	s.say("making %d definitions", n)
	if err := s.populated(ctx, n, 1); err != nil {
		return err
	}
	_, first := s.vastDefinition(0)
	if err := s.stage.Copies(ctx, vastKey(n, 0), n, func(value []byte, i int) (string, []byte) {
		names := strings.NewReplacer("kinds0", fmt.Sprintf("kinds%d", i), "kind0", fmt.Sprintf("kind%d", i), "Kind0", fmt.Sprintf("Kind%d", i))
		return vastKey(n, i), []byte(identity.ReplaceAllString(names.Replace(string(value)), `"uid":"`+string(uuid.NewUUID())+`"`))
	}); err != nil {
		return fmt.Errorf("copy %s: %w", first["metadata"], err)
	}
	return s.populated(ctx, n, n)
}

var identity = regexp.MustCompile(`"uid":"[^"]*"`)

func vastKey(n, i int) string {
	return fmt.Sprintf("/%s/apiextensions.k8s.io/customresourcedefinitions/kinds%d.%s", vastPrefix(n), i, group)
}

func vastPrefix(n int) string { return fmt.Sprintf("definitions-%d", n) }

// populated starts a server, creates the definitions with the numbers below first if they do not
// exist, and waits until the server serves each of them.
func (s *session) populated(ctx context.Context, n, first int) (err error) {
	server, err := s.startVast(ctx, gateOn, n)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, server.Stop) }()
	a := administrator{server.Client(process.Administrator)}
	if err := a.namespace(ctx, vast, nil); err != nil {
		return err
	}
	for i := range first {
		plural, object := s.vastDefinition(i)
		if _, err := a.Ensure(ctx, strings.TrimSuffix(definitions, "/"), plural+"."+group, object); err != nil {
			return err
		}
		if err := answers(ctx, a.Client, "/apis/"+group+"/v1/"+plural+"?limit=1", http.StatusOK); err != nil {
			return err
		}
	}
	return nil
}

// startWith starts a server with n definitions, and makes two dry-run writes to each kind.
func (s *session) startWith(ctx context.Context, side string, n int, profiles string, run *Run) (err error) {
	server, err := s.startVast(ctx, side, n)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, server.Stop) }()
	s.say("%s with %d definitions: ready after %s, %s of CPU", side, n, server.Readiness.Round(time.Millisecond), server.ReadinessCPU.Round(time.Millisecond))
	name := fmt.Sprintf("%d definitions", n)
	run.count(name, side, readiness, server.Readiness.Seconds())
	run.count(name, side, readinessCPU, server.ReadinessCPU.Seconds())
	if err := s.settle(ctx, []*process.Server{server}); err != nil {
		return err
	}
	if err := countStart(ctx, server, name, side, run); err != nil {
		return err
	}
	if err := countMemory(ctx, server, name, side, heapBefore, run); err != nil {
		return err
	}
	if err := keepHeap(ctx, server, profiles, fmt.Sprintf("%d-%s-ready", n, side)); err != nil {
		return err
	}
	client := server.Client(process.Administrator)
	for _, what := range []string{firstWrite, nextWrite} {
		var took time.Duration
		for i := range n {
			one, err := writeDry(ctx, client, i)
			if err != nil {
				return err
			}
			took += one
		}
		run.count(name, side, what, took.Seconds()*1e3/float64(n))
	}
	if err := countMemory(ctx, server, name, side, heapAfter, run); err != nil {
		return err
	}
	if err := keepHeap(ctx, server, profiles, fmt.Sprintf("%d-%s-written", n, side)); err != nil {
		return err
	}
	if side != gateOn || s.silent {
		return nil
	}
	// The figures are only valid if the stored definitions still have their permissions.
	plural, _ := s.vastDefinition(0)
	text, err := client.Get(ctx, definitions+plural+"."+group)
	if err == nil && !strings.Contains(string(text), "x-kubernetes-permission-excluded") {
		err = fmt.Errorf("the definition %s has lost its permissions", plural)
	}
	return err
}

// countStart counts the CPU time and the allocations of a server since its start.
func countStart(ctx context.Context, server *process.Server, name, side string, run *Run) error {
	spent, err := server.CPU()
	if err != nil {
		return err
	}
	metrics, err := server.Metrics(ctx)
	if err != nil {
		return err
	}
	run.count(name, side, quietCPU, spent.Seconds())
	run.count(name, side, quietAllocated, metrics["go_memstats_alloc_bytes_total"]/(1<<20))
	run.count(name, side, quietObjects, metrics["go_memstats_mallocs_total"]/1e3)
	return nil
}

func countMemory(ctx context.Context, server *process.Server, name, side, what string, run *Run) error {
	held, err := server.Heap(ctx)
	if err != nil {
		return err
	}
	run.count(name, side, what, held/(1<<20))
	if what != heapBefore {
		return nil
	}
	occupied, err := server.Resident()
	run.count(name, side, resident, float64(occupied)/(1<<20))
	return err
}

// keepHeap writes a profile of the server's heap to a file in folder. If folder is empty, it does
// nothing. The file name contains the time of day, so that runs do not overwrite each other's
// files.
func keepHeap(ctx context.Context, server *process.Server, folder, name string) error {
	if folder == "" {
		return nil
	}
	profile, err := server.Client(process.Administrator).Get(ctx, "/debug/pprof/heap?gc=1")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+time.Now().Format("-150405")+".prof"), profile, 0o644)
}

// writeDry creates an object by a dry-run request, and returns the time until the answer.
func writeDry(ctx context.Context, client *process.Client, i int) (time.Duration, error) {
	plural := fmt.Sprintf("kinds%d", i)
	body, err := json.Marshal(custom(fmt.Sprintf("Kind%d", i), "object", map[string]any{"f0": "value", "size": 1}))
	if err != nil {
		return 0, err
	}
	path := "/apis/" + group + "/v1/namespaces/" + vast + "/" + plural + "?dryRun=All"
	status, answer, took, err := client.Do(ctx, http.MethodPost, path, jsonBody, body)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("POST %s: %d %s", path, status, answer)
	}
	return took, err
}

// reportDefinitions reports each figure, and its ratio to the figure of the unpatched server with an
// interval over the runs.
func reportDefinitions(runs []Run, sizes []int, sides []string) []Line {
	var lines []Line
	for _, n := range sizes {
		name := fmt.Sprintf("%d definitions", n)
		for _, side := range sides {
			line := Line{Case: name, Side: side}
			for _, what := range startFigures {
				base, values := counts(runs, name, unpatched, what), counts(runs, name, side, what)
				line.Figures = append(line.Figures, exact(what, "%.2f", stats.Percentile(values, 0.5)))
				if side == unpatched || len(base) != len(values) {
					continue
				}
				var pairs []stats.Run
				for i := range values {
					pairs = append(pairs, stats.Run{{base[i], values[i]}})
				}
				e := stats.Bootstrap(pairs, func(s []float64) float64 { return s[1] / s[0] })
				line.Figures = append(line.Figures, sampled("ratio", "%.3f", e[0]))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
