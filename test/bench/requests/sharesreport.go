// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"kube-granular.dev/test/bench/requests/internal/stats"
)

// reportShares reports the CPU time that a permission adds to a request on the server with the gate
// (the code that authorizes single fields), compared with the time that a policy adds, on the
// unpatched server and on the server with the gate.
//
// A policy adds the time of its admission plugin, less the time of the plugin if no rule is in
// force. A permission adds the time of our code, and the difference in the time of the authorizer
// in the filter. This difference can be negative, because with the gate the authorizer finds role
// bindings by an index.
//
// The speed of a machine differs from one minute to the next by more than the turns differ. So the
// times of a turn are divided by partRest, the time of the work that all turns have in common, and
// multiplied by the mean of partRest over the three turns that are compared.
func reportShares(runs []Run) []Line {
	var lines []Line
	for _, c := range countedCases(runs) {
		for _, way := range []string{byGrant, byExcluded} {
			for _, server := range []string{unpatched, gateOn} {
				var rows [][]float64
				for _, r := range runs {
					if row, ok := sharesRow(r, c, way, server); ok {
						rows = append(rows, row)
					}
				}
				if len(rows) > 0 {
					lines = append(lines, Line{Case: c, Side: way + ", to a policy on " + server, Figures: sharesFigures(rows)})
				}
			}
		}
	}
	return lines
}

func sharesFigures(rows [][]float64) (out []Figure) {
	for _, f := range []struct {
		name, format string
		of           stats.Figure
	}{
		{"our code µs", "%.1f", func(row []float64) float64 { return row[ours] }},
		{"adds CPU µs", "%.1f", permissionAdds},
		{"a policy µs", "%.1f", policyAdds},
		{"of the policy's", "%.3f", func(row []float64) float64 { return permissionAdds(row) / policyAdds(row) }},
	} {
		e := stats.Jackknife(rows, f.of)
		if len(rows) == 1 {
			out = append(out, exact(f.name, f.format, e.Value))
		} else {
			out = append(out, sampled(f.name, f.format, e))
		}
	}
	return out
}

// The columns of a row: times in microseconds, scaled by the speed of the machine in each turn.
const (
	ours = iota
	filtered
	filteredByPolicy
	filteredByNothing
	pluginOfPolicy
	pluginOfNothing
)

func policyAdds(row []float64) float64 { return row[pluginOfPolicy] - row[pluginOfNothing] }

func permissionAdds(row []float64) float64 {
	return row[ours] + row[filtered] - (row[filteredByPolicy]+row[filteredByNothing])/2
}

// sharesRow returns the times of one run for a permission on gateOn, and for a policy on the given
// server. ok is false if one of the recordings is missing in the run.
func sharesRow(r Run, c, way, server string) (row []float64, ok bool) {
	compared := []turn{{gateOn, way}, {server, byPolicy}, {server, byNothing}}
	spent := make([]map[part]float64, len(compared))
	base := 0.0
	for i, t := range compared {
		spent[i] = map[part]float64{}
		for _, n := range r.Counts {
			if n.Case == c && n.Side == t.String() {
				spent[i][part(n.What)] = n.Value
			}
		}
		if spent[i][partRest] == 0 {
			return nil, false
		}
		base += spent[i][partRest] / float64(len(compared))
	}
	const permission, policy, nothing = 0, 1, 2
	scaled := func(i int, one part) float64 { return spent[i][one] * base / spent[i][partRest] }
	return []float64{
		ours:              scaled(permission, partOurs),
		filtered:          scaled(permission, partFilter),
		filteredByPolicy:  scaled(policy, partFilter),
		filteredByNothing: scaled(nothing, partFilter),
		pluginOfPolicy:    scaled(policy, partPlugin),
		pluginOfNothing:   scaled(nothing, partPlugin),
	}, true
}

// countedCases returns the cases of all counts, in the order of their first counts.
func countedCases(runs []Run) []string {
	var out []string
	for _, r := range runs {
		for _, n := range r.Counts {
			if !slices.Contains(out, n.Case) {
				out = append(out, n.Case)
			}
		}
	}
	return out
}
