// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// student holds quantiles of Student's t-distribution, for 95% intervals. With n rows, the
// interval extends by student[n-1] standard errors to each side. If n is greater than the number
// of quantiles, the last quantile is used, which makes the interval a little too wide.
var student = [...]float64{
	math.Inf(1), 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// Jackknife estimates a figure that is computed from the means of columns. It is for so few rows
// that a bootstrap is not reliable. It derives the interval from how much the figure changes when
// single rows are left out. Without rows, all results are NaN. With one row, only the ends of the
// interval are NaN.
func Jackknife(rows [][]float64, figure Figure) Estimate {
	n := len(rows)
	if n == 0 {
		return Estimate{math.NaN(), math.NaN(), math.NaN()}
	}
	value := figure(columns(rows, -1))
	if n == 1 {
		return Estimate{value, math.NaN(), math.NaN()}
	}
	without := make([]float64, n)
	for i := range rows {
		without[i] = figure(columns(rows, i))
	}
	center, squares := mean(without), 0.0
	for _, w := range without {
		squares += (w - center) * (w - center)
	}
	half := student[min(n-1, len(student)-1)] * math.Sqrt(squares*float64(n-1)/float64(n))
	return Estimate{value, value - half, value + half}
}

// columns returns the mean of each column, without the row that has the index without. If without
// is -1, no row is left out.
func columns(rows [][]float64, without int) []float64 {
	out := make([]float64, len(rows[0]))
	n := 0
	for i, row := range rows {
		if i == without {
			continue
		}
		n++
		for j, v := range row {
			out[j] += v
		}
	}
	for j := range out {
		out[j] /= float64(n)
	}
	return out
}
