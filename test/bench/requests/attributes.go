// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/test/bench/requests/internal/process"
	"kube-granular.dev/test/bench/requests/internal/stats"
)

// protecting is the name of a server that enforces protected labels and annotations.
const protecting = "protecting"

// More sides that enforce the rule by protected attributes: labels that only some callers may
// change. With byAttribute, a permission allows the change, and with byRole, a role. With
// byThousand the rule is not in force, but 1,000 protected attributes for other keys are.
const (
	byAttribute = "attribute"
	byRole      = "role"
	byThousand  = "thousand"
)

// protectedVerb is the verb that permits a change of the protected key that a holder changes.
const protectedVerb = "granular:protectedLabel(" + guardedPrefix + "x)"

const (
	authorityPath = "/apis/authority.kube-granular.dev/v1alpha1/"
	attributeKind = "ClusterProtectedAttribute"
)

func newAttributes(o *options) *cobra.Command {
	bindings, duration, hertz := 1, 30*time.Second, 1999
	cmd := o.command("attributes",
		"Compare the CPU time that a protected label, a policy, a webhook, and 1,000 attributes for other keys add to a request, from perf profiles of the server",
		func(ctx context.Context, s *session, run *Run) error {
			for _, way := range []string{byNothing, byPolicy, byWebhook, byAttribute, byRole, byThousand} {
				t := turn{protecting, way}
				spent, err := s.turn(ctx, t, "pods", bindings, duration, hertz)
				if err != nil {
					return fmt.Errorf("%s: %w", t, err)
				}
				for _, one := range parts {
					run.count(fmt.Sprintf("PUT pods, holder, %d role bindings", bindings), t.String(), string(one), spent[one])
				}
			}
			return nil
		},
		reportAttributes)
	cmd.Flags().IntVar(&bindings, "bindings", bindings, "number of role bindings in the namespace")
	cmd.Flags().DurationVar(&duration, "duration", duration, "how long each turn is recorded")
	cmd.Flags().IntVar(&hertz, "hertz", hertz, "samples in a second")
	return cmd
}

// attributed prepares a server and returns a lane in which a caller with the permission writes a
// pod. by is the way in which the rule is in force: by a protected attribute, or by a webhook.
// attributed waits until a caller without the permission is refused. With byThousand, it creates a
// thousand attributes for other keys, and makes sure that one of them is in force. If end is not
// nil, it stops the webhook.
func (s *session) attributed(ctx context.Context, server *process.Server, way string, bindings int) (l *lane, end func() error, err error) {
	a := administrator{server.Client(process.Administrator)}
	key := guardedPrefix + "x"
	switch way {
	case byAttribute:
		err = a.protect(ctx, "guard", map[string]any{"attributeKind": "Label", "attributeName": guardedPrefix + "*"})
	case byThousand:
		key = "k0.example.org/x"
		for i := 0; i < 1000 && err == nil; i++ {
			spec := map[string]any{"attributeKind": "Label", "attributeName": fmt.Sprintf("k%d.example.org/x", i)}
			if i%2 == 1 {
				spec["roleRef"] = map[string]any{"kind": "ClusterRole", "name": fmt.Sprintf("role-%d", i)}
			}
			err = a.protect(ctx, fmt.Sprintf("other-%d", i), spec)
		}
	case byWebhook:
		ca, caErr := s.stage.CA()
		webhook, url, startErr := s.startWebhook(server)
		if err = errors.Join(caErr, startErr); err != nil {
			return nil, nil, err
		}
		end = webhook.Stop
		if err = errors.Join(a.sheets(ctx, true), a.delegate(ctx), a.enforceWebhook(ctx, url, ca)); err != nil {
			return nil, end, err
		}
	}
	if err != nil {
		return nil, end, err
	}
	bystander, err := a.ruled(ctx, server, "pods", way, way == byThousand, bindings)
	if err == nil && way == byThousand {
		no := false
		if no, err = attempt(ctx, bystander.client, bystander.stream.path, []string{"metadata", "labels", key}, "x"); err == nil && !no {
			err = errors.New("a write of a label that one of the thousand attributes protects was not refused")
		}
		if err == nil {
			bystander.stream.live, err = bystander.client.Object(ctx, bystander.stream.path)
		}
		return bystander, end, err
	}
	if err != nil {
		return nil, end, err
	}
	l, err = a.ruled(ctx, server, "pods", way, true, bindings)
	return l, end, err
}

// protect creates a ClusterProtectedAttribute.
func (a administrator) protect(ctx context.Context, name string, spec any) error {
	return a.apply(ctx, authorityPath+"clusterprotectedattributes/"+name, map[string]any{
		"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": attributeKind, "metadata": map[string]any{"name": name}, "spec": spec})
}

// protectByRole creates a ProtectedAttribute for the guarded labels with a reference to a role:
// the subjects of that role may change these labels. If holder is true, it is the caller's role.
// If not, it is a role that nobody has.
func (a administrator) protectByRole(ctx context.Context, namespace string, holder bool) error {
	role := "nobody"
	if holder {
		role = caller
	}
	return a.apply(ctx, authorityPath+"namespaces/"+namespace+"/protectedattributes/guard", map[string]any{
		"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "ProtectedAttribute", "metadata": map[string]any{"name": "guard"},
		"spec": map[string]any{"attributeKind": "Label", "attributeName": guardedPrefix + "*", "roleRef": map[string]any{"kind": "Role", "name": role}}})
}

// attributesRow returns the figures of one run for one way to enforce the rule, in microseconds:
//
//   - the time of our code
//   - the time that this way adds: our code, and the difference in the filter's authorizer
//   - the time that a policy adds
//   - the time that a webhook adds
//   - the time of a request if the rule is not in force
//
// Machines are not always equally fast. So the times of a recording are scaled by its partRest,
// the work that all recordings have in common. With a webhook there is additional work in all
// parts, so the time that a webhook adds is the difference of unscaled totals.
func attributesRow(r Run, c, way string) (row []float64, ok bool) {
	spent := map[string]map[part]float64{}
	total := map[string]float64{}
	for _, n := range r.Counts {
		if n.Case != c {
			continue
		}
		if spent[n.Side] == nil {
			spent[n.Side] = map[part]float64{}
		}
		spent[n.Side][part(n.What)] = n.Value
		total[n.Side] += n.Value
	}
	times := func(way string) map[part]float64 { return spent[turn{protecting, way}.String()] }
	for _, needed := range []string{way, byNothing, byPolicy, byWebhook} {
		if times(needed)[partRest] == 0 {
			return nil, false
		}
	}
	base := (times(way)[partRest] + times(byNothing)[partRest] + times(byPolicy)[partRest]) / 3
	scaled := func(way string, p part) float64 { return times(way)[p] * base / times(way)[partRest] }
	ours := scaled(way, partOurs) - scaled(byNothing, partOurs)
	return []float64{
		ours,
		ours + scaled(way, partFilter) - (scaled(byPolicy, partFilter)+scaled(byNothing, partFilter))/2,
		scaled(byPolicy, partPlugin) - scaled(byNothing, partPlugin),
		total[turn{protecting, byWebhook}.String()] - total[turn{protecting, byNothing}.String()],
		base + scaled(byNothing, partOurs) + scaled(byNothing, partPlugin) + scaled(byNothing, partFilter),
	}, true
}

// reportAttributes reports the time that each way adds to a request, and its ratio to the time that
// a policy adds, to the time that a webhook adds, and to the time of the request.
func reportAttributes(runs []Run) []Line {
	var lines []Line
	for _, c := range countedCases(runs) {
		for _, way := range []string{byAttribute, byRole, byThousand} {
			var rows [][]float64
			for _, r := range runs {
				if row, ok := attributesRow(r, c, way); ok {
					rows = append(rows, row)
				}
			}
			if len(rows) == 0 {
				continue
			}
			line := Line{Case: c, Side: way}
			for _, f := range []struct {
				name, format string
				of           stats.Figure
			}{
				{"our code µs", "%.1f", func(row []float64) float64 { return row[0] }},
				{"adds CPU µs", "%.1f", func(row []float64) float64 { return row[1] }},
				{"a policy µs", "%.1f", func(row []float64) float64 { return row[2] }},
				{"a webhook µs", "%.0f", func(row []float64) float64 { return row[3] }},
				{"the request µs", "%.0f", func(row []float64) float64 { return row[4] }},
				{"of the policy's", "%.3f", func(row []float64) float64 { return row[1] / row[2] }},
				{"of the webhook's", "%.3f", func(row []float64) float64 { return row[1] / row[3] }},
				{"CPU ratio", "%.4f", func(row []float64) float64 { return 1 + row[1]/row[4] }},
			} {
				e := stats.Jackknife(rows, f.of)
				if len(rows) == 1 {
					line.Figures = append(line.Figures, exact(f.name, f.format, e.Value))
				} else {
					line.Figures = append(line.Figures, sampled(f.name, f.format, e))
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}
