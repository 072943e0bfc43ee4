// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
)

// day is a day in seconds.
const day = 24 * 60 * 60

// column and row are the width and the height, in pixels, of a cell of the dashboard's grid.
const column, row = 40, 30

var colours = []string{"#1f78c1", "#e24d42", "#508642", "#c15c17", "#6d1f62", "#0a437c", "#967302", "#58140c"}

// draw writes the SVG of a panel: its title, its axes and a line for each series in a time range.
func (p panel) draw(w io.Writer, all []series, first, until float64) {
	x, y := 10+p.GridPos.X*column, 40+p.GridPos.Y*row
	width, height := p.GridPos.W*column-8, p.GridPos.H*row-8
	if p.Type == "row" {
		fmt.Fprintf(w, `<text x="%g" y="%g" font-size="13" font-weight="bold">%s</text>`+"\n", x, y+18, html.EscapeString(p.Title))
		return
	}
	fmt.Fprintf(w, `<rect x="%g" y="%g" width="%g" height="%g" fill="white" stroke="#ccc"/><text x="%g" y="%g" font-size="12">%s</text>`+"\n", x, y, width, height, x+8, y+16, html.EscapeString(p.Title))
	top := 0.0
	for _, s := range all {
		for _, point := range s.points {
			if !math.IsInf(point[1], 0) {
				top = max(top, point[1])
			}
		}
	}
	if len(all) == 0 {
		fmt.Fprintf(w, `<text x="%g" y="%g" fill="#888">no data</text>`+"\n", x+width/2-20, y+height/2)
		return
	}
	if top == 0 {
		top = 1
	}
	lines := float64((len(all) + 2) / 3)
	left, bottom := x+72, y+height-8-lines*14
	plotWidth, plotHeight := width-82, bottom-(y+26)
	fmt.Fprintf(w, `<text transform="translate(%g %g) rotate(-90)" text-anchor="middle" font-size="9" fill="#666">%s</text>`+"\n",
		x+12, bottom-plotHeight/2, html.EscapeString(p.FieldConfig.Defaults.Custom.AxisLabel))
	for i := range 3 {
		value := top * float64(i) / 2
		level := bottom - plotHeight*float64(i)/2
		fmt.Fprintf(w, `<line x1="%g" y1="%g" x2="%g" y2="%g" stroke="#eee"/><text x="%g" y="%g" text-anchor="end" fill="#666">%s</text>`+"\n", left, level, left+plotWidth, level, left-4, level+4, p.format(value))
	}
	for i, s := range all {
		colour := colours[i%len(colours)]
		path := ""
		for j, point := range s.points {
			command := "L"
			if j == 0 || point[0]-s.points[j-1][0] > 20 {
				command = "M"
			}
			path += fmt.Sprintf("%s%.1f %.1f", command, left+(point[0]-first)/(until-first)*plotWidth, bottom-min(point[1], top)/top*plotHeight)
		}
		fmt.Fprintf(w, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path, colour)
		lx, ly := x+8+float64(i%3)*(width/3), bottom+14+float64(i/3)*14
		fmt.Fprintf(w, `<rect x="%g" y="%g" width="8" height="8" fill="%s"/><text x="%g" y="%g" font-size="9">%s</text>`+"\n", lx, ly-6, colour, lx+11, ly+1, html.EscapeString(s.name))
	}
}

// format returns a value as text, with the unit of the panel.
func (p panel) format(value float64) string {
	switch p.FieldConfig.Defaults.Unit {
	case "s":
		if value < 1 {
			return strconv.FormatFloat(value*1000, 'g', 3, 64) + " ms"
		}
		if value >= 2*day {
			return strconv.FormatFloat(value/day, 'g', 3, 64) + " d"
		}
		return strconv.FormatFloat(value, 'g', 3, 64) + " s"
	case "reqps":
		return strconv.FormatFloat(value, 'g', 3, 64) + "/s"
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}
