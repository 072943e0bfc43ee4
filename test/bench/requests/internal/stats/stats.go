// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats makes figures of measurements: trimmed means, percentiles, and
// intervals by the bootstrap.
//
// Model: a measurement is repeated in rounds, in which all sides take turns, and the
// rounds in runs, between which the servers are started anew. Sides of one round are
// neighbours in time, so a round is drawn whole; runs differ by more than rounds do
// (the layout of memory, the load of the machine), so runs are drawn first.
//
// Invariant: the same measurements give the same figures; the draws are seeded.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// trim is the share of values that a trimmed mean leaves out at either end.
const trim = 0.1

// draws is how often the bootstrap draws. An interval's ends are then good to a tenth
// of its width.
const draws = 1000

// Trimmed is the mean without the lowest and the highest tenth, so that a block that
// was interrupted does not count. It is NaN for no values.
func Trimmed(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	cut := int(trim * float64(len(sorted)))
	return mean(sorted[cut : len(sorted)-cut])
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Percentile is the smallest of the values that p of them, from 0 to 1, are not above.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// Run holds what each side cost in each round: run[round][side].
type Run [][]float64

// means says what the sides cost over some rounds. Each side is first measured against
// its round's mean over all sides, which takes out what made a whole round slow; the
// trimmed mean of that is brought back to scale with the trimmed mean of the rounds.
func (r Run) means(rounds []int) []float64 {
	scale := make([]float64, len(rounds))
	for i, round := range rounds {
		scale[i] = mean(r[round])
	}
	scaled := Trimmed(scale)
	out := make([]float64, len(r[0]))
	column := make([]float64, len(rounds))
	for side := range out {
		for i, round := range rounds {
			column[i] = r[round][side] / scale[i]
		}
		out[side] = Trimmed(column) * scaled
	}
	return out
}

// Estimate is a figure with the ends of its 95% interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Figure is computed from what each side costs.
type Figure func(sides []float64) float64

// Bootstrap estimates figures of the sides' costs, a cost being the mean over runs of
// the trimmed mean over rounds (see means). Runs without rounds are left out; without any there is
// nothing to estimate, and all is NaN. With one run the interval says nothing about
// how another would differ.
func Bootstrap(runs []Run, figures ...Figure) []Estimate {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return len(r) == 0 })
	out := make([]Estimate, len(figures))
	if len(runs) == 0 {
		for i := range out {
			out[i] = Estimate{math.NaN(), math.NaN(), math.NaN()}
		}
		return out
	}
	source := rand.New(rand.NewPCG(1, 2))
	drawn := make([][]float64, len(figures))
	for range draws {
		sides := cost(runs, source)
		for i, f := range figures {
			drawn[i] = append(drawn[i], f(sides))
		}
	}
	sides := cost(runs, nil)
	for i, f := range figures {
		out[i] = Estimate{f(sides), Percentile(drawn[i], 0.025), Percentile(drawn[i], 0.975)}
	}
	return out
}

// cost is what each side costs, over runs and rounds drawn from a source, or over all of
// them if there is none.
func cost(runs []Run, source *rand.Rand) []float64 {
	var sums []float64
	for i := range runs {
		run := runs[i]
		if source != nil {
			run = runs[source.IntN(len(runs))]
		}
		rounds := make([]int, len(run))
		for j := range rounds {
			rounds[j] = j
			if source != nil {
				rounds[j] = source.IntN(len(run))
			}
		}
		means := run.means(rounds)
		if sums == nil {
			sums = make([]float64, len(means))
		}
		for side, m := range means {
			sums[side] += m / float64(len(runs))
		}
	}
	return sums
}
