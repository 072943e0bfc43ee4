// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stats computes figures from measurements: trimmed means, percentiles, and confidence
// intervals by the bootstrap.
//
// Model: sides are the alternatives that are compared, such as two servers. In each round, all sides
// are measured one after the other. A run has many rounds, and the servers are started anew for each
// run. The bootstrap draws whole rounds, because the sides of one round were measured at nearly the
// same time. It draws runs first, because runs differ by more than rounds do, for example by the
// layout of memory and the load of the machine.
//
// Invariant: the same measurements result in the same figures, because the random source is seeded.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// trim is the share of values that a trimmed mean leaves out at either end.
const trim = 0.1

// draws is the number of draws of the bootstrap. It makes the ends of an interval exact to about a
// tenth of the interval's width.
const draws = 1000

// Trimmed returns the mean without the lowest and the highest tenth of the values, so that outliers,
// such as an interrupted block of requests, do not count. It is NaN if there are no values.
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

// Percentile returns the smallest of the values for which at least the share p of all values is
// equal or smaller. p is between 0 and 1: with 0.5, the result is the median. If there are no
// values, the result is NaN.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	index := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(index, 0), len(sorted)-1)]
}

// Run has the cost of each side in each round: run[round][side].
type Run [][]float64

// means returns the mean cost of each side over the given rounds. It first divides each cost by
// the mean cost of all sides in the same round, so that a round that was slow as a whole has no
// influence. Then it multiplies the trimmed mean of these quotients by the trimmed mean of the
// rounds' mean costs.
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

// Figure computes a figure from the cost of each side.
type Figure func(sides []float64) float64

// Bootstrap estimates figures from the costs of the sides. The cost of a side is the mean of the
// costs that means returns for the runs. Runs without rounds are left out. If no run is left, all
// results are NaN. With only one run, the interval does not include the differences between runs.
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

// cost returns the cost of each side. With a random source, it first draws runs, and rounds of
// each drawn run, with repetitions. If source is nil, it uses all runs and rounds once.
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
