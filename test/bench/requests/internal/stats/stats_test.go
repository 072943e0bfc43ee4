// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTrimmed(t *testing.T) {
	for name, tc := range map[string]struct {
		values []float64
		want   float64
	}{
		"few values are all taken": {[]float64{1, 2, 6}, 3},
		"outliers are not":         {[]float64{2, 1000, 2, 2, 2, 2, 2, 2, 2, -1000}, 2},
	} {
		if got := Trimmed(tc.values); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if got := Trimmed(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestPercentile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	for p, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := Percentile(values, p); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
}

// TestBootstrapCovers makes random measurements whose true ratio is known, and counts how often the
// interval includes it. Noise that both sides of a round share must not widen the interval; otherwise
// the width would be 0.3 or more.
func TestBootstrapCovers(t *testing.T) {
	const truth, tries = 1.1, 40
	source := rand.New(rand.NewPCG(7, 7))
	ratio := func(sides []float64) float64 { return sides[1] / sides[0] }
	held := 0
	for range tries {
		var runs []Run
		for range 5 {
			var run Run
			for range 30 {
				shared := 1 + 4*source.Float64()
				run = append(run, []float64{shared * (1 + 0.1*source.NormFloat64()), truth * shared * (1 + 0.1*source.NormFloat64())})
			}
			runs = append(runs, run)
		}
		e := Bootstrap(runs, ratio)[0]
		if e.Low > e.Value || e.High < e.Value || e.High-e.Low > 0.2 {
			t.Fatalf("%+v", e)
		}
		if e.Low <= truth && truth <= e.High {
			held++
		}
	}
	// 95% of the intervals should include the true ratio. Fewer than 80% would be an error, and not
	// chance.
	if held < tries*8/10 {
		t.Errorf("%d of %d intervals hold the truth", held, tries)
	}
}

func TestBootstrapOfNothing(t *testing.T) {
	e := Bootstrap([]Run{nil, {}}, func(s []float64) float64 { return s[0] })[0]
	if !math.IsNaN(e.Value) || !math.IsNaN(e.Low) || !math.IsNaN(e.High) {
		t.Errorf("%+v", e)
	}
}
