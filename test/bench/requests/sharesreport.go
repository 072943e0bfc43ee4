// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	"kube-granular.dev/test/bench/requests/internal/stats"
)

// reportShares says what a grant adds to a request on the server with the gate on, and how
// that compares with what a policy adds, on the unpatched server and on the same one.
//
// A policy adds what its plugin takes, less what that takes with no rule in force. A grant
// adds our code, and what the authorizer in the filter takes more than of who needs no
// grant; or less, since with the gate on it finds bindings by an index.
//
// Minutes of a machine differ by more than turns do. So each turn has a clock of its own,
// the rest of its requests: what it measured is divided by that, and multiplied by the
// mean of the three turns that are compared.
func reportShares(runs []Run) []Line {
	var lines []Line
	for _, c := range countedCases(runs) {
		for _, server := range []string{unpatched, gateOn} {
			var rows [][]float64
			for _, r := range runs {
				if row, ok := sharesRow(r, c, server); ok {
					rows = append(rows, row)
				}
			}
			line := Line{Case: c, Side: server}
			for _, f := range []struct {
				name, format string
				of           stats.Figure
			}{
				{"policy adds µs", "%.1f", policyAdds},
				{"our code µs", "%.1f", func(row []float64) float64 { return row[oursOfGrant] }},
				{"grant adds µs", "%.1f", grantAdds},
				{"grant : policy", "%.3f", func(row []float64) float64 { return grantAdds(row) / policyAdds(row) }},
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

// The columns of a row, in microseconds by the clock of the turn.
const (
	oursOfGrant = iota
	filterOfGrant
	filterOfPolicy
	filterOfNothing
	pluginOfPolicy
	pluginOfNothing
)

func policyAdds(row []float64) float64 { return row[pluginOfPolicy] - row[pluginOfNothing] }

func grantAdds(row []float64) float64 {
	return row[oursOfGrant] + row[filterOfGrant] - (row[filterOfPolicy]+row[filterOfNothing])/2
}

// sharesRow is what one run has to say of a grant, against a policy on a server.
func sharesRow(r Run, c, server string) (row []float64, ok bool) {
	compared := []turn{{gateOn, byGrant}, {server, byPolicy}, {server, byNothing}}
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
	const grant, policy, nothing = 0, 1, 2
	at := func(i int, of part) float64 { return spent[i][of] * base / spent[i][partRest] }
	return []float64{
		oursOfGrant:     at(grant, partOurs),
		filterOfGrant:   at(grant, partFilter),
		filterOfPolicy:  at(policy, partFilter),
		filterOfNothing: at(nothing, partFilter),
		pluginOfPolicy:  at(policy, partPlugin),
		pluginOfNothing: at(nothing, partPlugin),
	}, true
}

// countedCases are the cases of what was counted, in the order of the first of each.
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
