// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
)

const (
	plotWidth, plotHeight = 640, 130
	left, top             = 70, 30
)

// writePlot draws the first four metrics of both servers, one chart below the other, as SVG.
func (r *run) writePlot(path string) error {
	shown := measured[:4]
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth+left+20, len(shown)*(plotHeight+top+25)+10)
	fmt.Fprintln(&out, `<rect width="100%" height="100%" fill="white"/>`)
	for i, m := range shown {
		y := top + i*(plotHeight+top+25)
		highest := 1.0
		for j := range r.samples {
			highest = max(highest, r.samples[j].values[i], r.controls[j].values[i])
		}
		fmt.Fprintf(&out, `<text x="%d" y="%d" font-weight="bold">%s</text>`+"\n", left, y-8, m.title)
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#bbb"/>`+"\n", left, y, plotWidth, plotHeight)
		fmt.Fprintf(&out, `<text x="%d" y="%d" text-anchor="end">%.0f</text><text x="%d" y="%d" text-anchor="end">0</text>`+"\n",
			left-6, y+10, highest, left-6, y+plotHeight)
		r.line(&out, r.controls, i, y, highest, "#999")
		r.line(&out, r.samples, i, y, highest, "#1f6feb")
		fmt.Fprintf(&out, `<text x="%d" y="%d">0</text><text x="%d" y="%d" text-anchor="end">%.0f min</text>`+"\n",
			left, y+plotHeight+16, left+plotWidth, y+plotHeight+16, r.duration.Minutes())
	}
	fmt.Fprintf(&out, `<text x="%d" y="14" fill="#1f6feb" text-anchor="end">gate on</text><text x="%d" y="14" fill="#777" text-anchor="end">gate off</text>`+"\n",
		left+plotWidth-60, left+plotWidth)
	fmt.Fprintln(&out, "</svg>")
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

func (r *run) line(out *strings.Builder, samples []sample, metric, y int, highest float64, colour string) {
	var points []string
	for _, s := range samples {
		points = append(points, fmt.Sprintf("%.1f,%.1f", left+plotWidth*float64(s.at)/float64(r.duration),
			float64(y)+plotHeight*(1-s.values[metric]/highest)))
	}
	fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", strings.Join(points, " "), colour)
}
