// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestJackknife checks the interval of a mean, which must be Student's: for 1, 2 and 6, the mean is
// 3, its standard error is 1.5275, and there are two degrees of freedom.
func TestJackknife(t *testing.T) {
	first := func(row []float64) float64 { return row[0] }
	e := Jackknife([][]float64{{1}, {2}, {6}}, first)
	if half := 4.303 * math.Sqrt(7.0/3); math.Abs(e.Value-3) > 1e-9 || math.Abs(e.High-3-half) > 1e-9 || math.Abs(3-half-e.Low) > 1e-9 {
		t.Errorf("%+v", e)
	}
	if e := Jackknife([][]float64{{4}}, first); e.Value != 4 || !math.IsNaN(e.Low) || !math.IsNaN(e.High) {
		t.Errorf("of one row: %+v", e)
	}
	if e := Jackknife(nil, first); !math.IsNaN(e.Value) {
		t.Errorf("of no row: %+v", e)
	}
	many := make([][]float64, 100)
	for i := range many {
		many[i] = []float64{float64(i % 2)}
	}
	if e := Jackknife(many, first); math.IsNaN(e.Low) || e.High-e.Low > 0.25 {
		t.Errorf("of many rows: %+v", e)
	}
}

// TestJackknifeCovers makes random rows whose true ratio is known, and counts how often the interval
// includes it, for few rows and for many rows.
func TestJackknifeCovers(t *testing.T) {
	const truth, tries = 0.5, 400
	source := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{4, 8, 40} {
		held := 0
		for range tries {
			rows := make([][]float64, n)
			for i := range rows {
				rows[i] = []float64{truth * (1 + 0.1*source.NormFloat64()), 1 + 0.1*source.NormFloat64()}
			}
			if e := Jackknife(rows, func(row []float64) float64 { return row[0] / row[1] }); e.Low <= truth && truth <= e.High {
				held++
			}
		}
		// 95% of the intervals should include the true ratio. The random source is seeded, so the test
		// never fails by chance.
		if held < tries*92/100 || held > tries*98/100 {
			t.Errorf("%d rows: %d of %d intervals hold the truth", n, held, tries)
		}
	}
}
