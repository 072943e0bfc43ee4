// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

func newChanged(o *options) *cobra.Command {
	sides := []string{unpatched, control, gateOff, gateOn}
	cmd := o.command("changed",
		"Change a CustomResourceDefinition, and measure the time until writes are served and authorized by the new version",
		func(ctx context.Context, s *session, run *Run) error {
			return s.changed(ctx, sides, run)
		},
		func(runs []Run) []Line { return reportChanged(runs, sides) })
	cmd.Flags().StringSliceVar(&sides, "sides", sides, "sides to compare")
	return cmd
}

// The two kinds of changes. Each change sets another default. In addition, it adds an excluded
// permission (one that the verb update does not include) to a field, or removes that permission.
const (
	opened = "a definition that excludes nothing"
	closed = "a definition that excludes a field"
	// untilServed is how long the old definition stays in force. It begins with the answer to the
	// change of the definition. It ends with the first answer to a write that follows the new
	// definition: the object has the new default, or the write is refused because of the
	// permission.
	untilServed = "until served ms"
)

// changed makes one run. The servers take turns, each with one change.
func (s *session) changed(ctx context.Context, sides []string, run *Run) (err error) {
	servers, stop, err := s.start(ctx, sides...)
	if err != nil {
		return err
	}
	defer func() { err = joined(err, stop) }()
	for _, server := range servers {
		a := administrator{server.Client(process.Administrator)}
		if err := a.define(ctx, changingDefinition(server.Name, 0), "changings"); err != nil {
			return err
		}
		if err := a.namespace(ctx, vast, nil); err != nil {
			return err
		}
		if err := a.grant(ctx, vast, 1, rule(group, []string{"create", "get"}, "changings")); err != nil {
			return err
		}
		if err := may(ctx, server.Client(caller), changings+"/none"); err != nil {
			return err
		}
	}
	if err := s.settle(ctx, servers); err != nil {
		return err
	}
	for i := range s.rounds.count {
		for _, server := range servers {
			took, err := changeOnce(ctx, server, i+1)
			if err != nil {
				return fmt.Errorf("%s: %w", server.Name, err)
			}
			run.count(changeOf(i+1), server.Name, untilServed, float64(took.Microseconds())/1e3)
		}
	}
	return nil
}

const changings = "/apis/" + group + "/v1/namespaces/" + vast + "/changings"

func changeOf(i int) string {
	if i%2 == 0 {
		return opened
	}
	return closed
}

func changingDefinition(side string, i int) map[string]any {
	owner := map[string]any{"type": "string"}
	if side != unpatched && side != control {
		owner["x-kubernetes-permission-verb"] = group + "/owner"
		if changeOf(i) == closed {
			owner["x-kubernetes-permission-excluded"] = true
		}
	}
	fields := map[string]any{"owner": owner, "probe": map[string]any{"type": "string", "default": fmt.Sprintf("v%d", i)}}
	for j := range 20 {
		fields[fmt.Sprintf("f%d", j)] = map[string]any{"type": "string"}
	}
	return definition("Changing", "changings", map[string]any{"type": "object", "properties": fields})
}

// changeOnce changes the definition, and then repeats a dry-run write to the field with the
// excluded permission until an answer follows the new definition. It returns how long that took.
// It fails if the server already serves the new default but does not yet check the new permission.
func changeOnce(ctx context.Context, server *process.Server, i int) (time.Duration, error) {
	if err := (administrator{server.Client(process.Administrator)}).apply(ctx, definitions+"changings."+group, changingDefinition(server.Name, i)); err != nil {
		return 0, err
	}
	start := time.Now()
	client := server.Client(caller)
	body, err := json.Marshal(custom("Changing", "object", map[string]any{"owner": "me"}))
	if err != nil {
		return 0, err
	}
	refuses := server.Name == gateOn && changeOf(i) == closed
	for time.Since(start) < patience {
		status, answer, _, err := client.Do(ctx, http.MethodPost, changings+"?dryRun=All", jsonBody, body)
		if err != nil {
			return 0, err
		}
		served := status == http.StatusCreated && strings.Contains(string(answer), fmt.Sprintf(`"probe":"v%d"`, i))
		switch {
		case refuses && served:
			return 0, fmt.Errorf("after change %d the new default is there and the excluded field was written", i)
		case refuses && status == http.StatusForbidden, !refuses && served:
			return time.Since(start), nil
		}
	}
	return 0, fmt.Errorf("change %d is not served after %s", i, patience)
}

// reportChanged returns percentiles over all runs, and the median of the differences from the
// unpatched server in the same round.
func reportChanged(runs []Run, sides []string) []Line {
	var lines []Line
	for _, what := range []string{opened, closed} {
		for _, side := range sides {
			line := Line{Case: what, Side: side}
			values := counts(runs, what, side, untilServed)
			for _, p := range []float64{0.5, 0.9} {
				line.Figures = append(line.Figures, exact(fmt.Sprintf("p%.0f ms", 100*p), "%.1f", stats.Percentile(values, p)))
			}
			if base := counts(runs, what, unpatched, untilServed); side != unpatched && len(base) == len(values) {
				differences := make([]float64, len(values))
				for i := range values {
					differences[i] = values[i] - base[i]
				}
				line.Figures = append(line.Figures, exact("median of the differences ms", "%.1f", stats.Percentile(differences, 0.5)))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
