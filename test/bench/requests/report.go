// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"kube-granular.dev/test/bench/requests/internal/stats"
)

// Report is the result of a command.
type Report struct {
	Command string  `json:"command"`
	Machine Machine `json:"machine"`
	Lines   []Line  `json:"lines"`
}

// Machine describes the machine that was used for the measurement.
type Machine struct {
	Processors int    `json:"processors"`
	Model      string `json:"model"`
	Runs       int    `json:"runs"`
	// Load is the lowest and the highest load average at the beginning or the end of a run.
	Load [2]float64 `json:"load"`
}

// Line has the figures of one side of a case.
type Line struct {
	Case    string   `json:"case"`
	Side    string   `json:"side"`
	Figures []Figure `json:"figures"`
}

// Figure is a number, with an interval if it was sampled.
type Figure struct {
	Name string `json:"name"`
	stats.Estimate
	Exact bool `json:"exact,omitempty"`
	// format is the fmt verb for the number and for the ends of its interval.
	format string
}

func sampled(name, format string, e stats.Estimate) Figure {
	return Figure{Name: name, Estimate: e, format: format}
}

func exact(name, format string, value float64) Figure {
	return Figure{Name: name, Estimate: stats.Estimate{Value: value, Low: value, High: value}, Exact: true, format: format}
}

func (f Figure) String() string {
	if f.Exact {
		return fmt.Sprintf(f.format, f.Value)
	}
	return fmt.Sprintf(f.format+" ["+f.format+".."+f.format+"]", f.Value, f.Low, f.High)
}

// report prints the lines as a table or as JSON. It leaves out figures that could not be computed.
func (o *options) report(w io.Writer, command string, runs []Run, lines []Line) error {
	r := Report{Command: command, Machine: machine(runs)}
	for _, line := range lines {
		kept := line.Figures[:0:0]
		for _, f := range line.Figures {
			if !math.IsNaN(f.Value) && !math.IsInf(f.Value, 0) && !math.IsNaN(f.Low) && !math.IsNaN(f.High) {
				kept = append(kept, f)
			}
		}
		line.Figures = kept
		r.Lines = append(r.Lines, line)
	}
	if o.output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(w, "%d runs on %d processors (%s), load average %.1f to %.1f; intervals hold 95%%\n", r.Machine.Runs, r.Machine.Processors, r.Machine.Model, r.Machine.Load[0], r.Machine.Load[1])
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	last := ""
	for _, line := range r.Lines {
		if line.Case != last {
			fmt.Fprintf(table, "\n%s\n", line.Case)
			last = line.Case
		}
		fmt.Fprintf(table, "  %s", line.Side)
		for _, f := range line.Figures {
			fmt.Fprintf(table, "\t%s %s", f.Name, f)
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func machine(runs []Run) Machine {
	m := Machine{Processors: goruntime.NumCPU(), Model: "unknown", Runs: len(runs)}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(info), "model name"); ok {
			line, _, _ := strings.Cut(rest, "\n")
			m.Model = strings.Trim(line, "\t: ")
		}
	}
	for i, r := range runs {
		low, high := min(r.Load[0], r.Load[1]), max(r.Load[0], r.Load[1])
		if i == 0 {
			m.Load = [2]float64{low, high}
		}
		m.Load = [2]float64{min(m.Load[0], low), max(m.Load[1], high)}
	}
	return m
}

func ofCase(s Sample) string { return s.Case }

// inOrder has all sides in the order of reports. The first side of a case is the baseline, with
// which the others are compared.
var inOrder = slices.Concat(allSides, []string{byNothing, byPolicy, byWebhook, byGrant, byExcluded, ordinary, oneDomain, anyLabel, tooMany, nothingElse})

// sidesOf returns the measured sides of a case in the order of inOrder.
func sidesOf(runs []Run, c string) []string {
	sides := names(runs, func(s Sample) string {
		if s.Case != c {
			return ""
		}
		return s.Side
	})
	slices.SortFunc(sides, func(a, b string) int { return slices.Index(inOrder, a) - slices.Index(inOrder, b) })
	return sides
}

func cpu(s Sample) float64 { return s.CPU }

func median(s Sample) float64 { return s.Median }

// latencyFigures returns the 50th and the 99th percentile of the latencies, in milliseconds.
func latencyFigures(runs []Run, c, side string) []Figure {
	measured := latencies(runs, c, side)
	return []Figure{exact("p50 ms", "%.2f", stats.Percentile(measured, 0.5)), exact("p99 ms", "%.2f", stats.Percentile(measured, 0.99))}
}

// allTogether is the case name of the lines with the figures over all cases.
const allTogether = "all of these, geometric mean"

// reportWhole reports the ratio of each side's cost to the cost of the first side (the baseline).
func reportWhole(runs []Run) []Line {
	var lines []Line
	cases := names(runs, ofCase)
	for _, c := range cases {
		sides := sidesOf(runs, c)
		for i, side := range sides {
			line := Line{Case: c, Side: side}
			if i == 0 {
				e := stats.Bootstrap(matrix(runs, c, []string{side}, cpu), func(s []float64) float64 { return s[0] / 1e6 })
				line.Figures = append(line.Figures, sampled("CPU ms", "%.3f", e[0]))
			} else {
				line.Figures = append(line.Figures, ratios(runs, []string{c}, sides[0], side)...)
			}
			line.Figures = append(line.Figures, latencyFigures(runs, c, side)...)
			for _, what := range []string{allocations, allocatedBytes} {
				line.Figures = append(line.Figures, exact(what, "%.0f", stats.Percentile(counts(runs, c, side, what), 0.5)))
			}
			lines = append(lines, line)
		}
	}
	if len(cases) > 1 {
		sides := sidesOf(runs, cases[0])
		for _, side := range sides[1:] {
			lines = append(lines, Line{Case: allTogether, Side: side, Figures: ratios(runs, cases, sides[0], side)})
		}
	}
	return lines
}

// ratios returns the ratios of a side's cost to the cost of the first side, as geometric means over
// the cases.
func ratios(runs []Run, cases []string, first, side string) []Figure {
	mean := func(s []float64) float64 {
		sum := 0.0
		for i := 0; i < len(s); i += 2 {
			sum += math.Log(s[i+1] / s[i])
		}
		return math.Exp(2 * sum / float64(len(s)))
	}
	ratio := func(cost func(Sample) float64) stats.Estimate {
		var all []stats.Run
		for _, c := range cases {
			all = beside(all, matrix(runs, c, []string{first, side}, cost))
		}
		return stats.Bootstrap(all, mean)[0]
	}
	return []Figure{sampled("CPU ratio", "%.3f", ratio(cpu)), sampled("of medians", "%.3f", ratio(median))}
}

// reportAdded reports the cost that each side adds to the first side (the baseline), next to the
// cost that an admission policy and a webhook add.
func reportAdded(runs []Run) []Line {
	var lines []Line
	for _, c := range names(runs, ofCase) {
		sides := sidesOf(runs, c)
		indexes := map[string]int{}
		for i, side := range sides {
			indexes[side] = i
		}
		costs := matrix(runs, c, sides, median)
		base := stats.Percentile(latencies(runs, c, sides[0]), 0.5)
		for i, side := range sides {
			line := Line{Case: c, Side: side}
			added := func(s []float64) float64 { return (s[i] - s[0]) / 1e3 }
			if i == 0 {
				e := stats.Bootstrap(costs, func(s []float64) float64 { return s[0] / 1e3 })
				line.Figures = append(line.Figures, sampled("CPU µs", "%.0f", e[0]))
			} else {
				line.Figures = append(line.Figures, sampled("adds CPU µs", "%.0f", stats.Bootstrap(costs, added)[0]))
			}
			if side == byWebhook {
				other := stats.Bootstrap(matrix(runs, c, []string{side}, func(s Sample) float64 { return s.Other }), func(s []float64) float64 { return s[0] / 1e3 })
				line.Figures = append(line.Figures, sampled("in its own process µs", "%.0f", other[0]))
			}
			for _, than := range []string{byPolicy, byWebhook} {
				j, ok := indexes[than]
				if !ok || i == 0 || side == byPolicy || side == byWebhook {
					continue
				}
				e := stats.Bootstrap(costs, func(s []float64) float64 { return (s[i] - s[0]) / (s[j] - s[0]) })
				line.Figures = append(line.Figures, sampled("of the "+than+"'s", "%.2f", e[0]))
			}
			line.Figures = append(line.Figures, latencyFigures(runs, c, side)...)
			if i > 0 {
				line.Figures = append(line.Figures, exact("adds p50 ms", "%.2f", stats.Percentile(latencies(runs, c, side), 0.5)-base))
			}
			lines = append(lines, line)
		}
	}
	return lines
}
