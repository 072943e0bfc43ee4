// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command dashboard draws docs/monitoring/dashboard.json as an SVG, with data from a Prometheus
// server, so that no Grafana is needed to look at it.
//
//	go run ./hack/dashboard -prometheus http://127.0.0.1:9090 -minutes 10 > dashboard.svg
//
// It supports only line charts of time series.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type dashboard struct {
	Title  string
	Panels []panel
}

type panel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y float64 }
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Custom struct{ AxisLabel string }
		}
	}
	Targets []struct{ Expr, LegendFormat string }
}

type series struct {
	name   string
	points [][2]float64
}

func main() {
	prometheus := flag.String("prometheus", "http://127.0.0.1:9090", "URL of a Prometheus")
	file := flag.String("dashboard", "docs/monitoring/dashboard.json", "file of the dashboard")
	minutes := flag.Int("minutes", 10, "how much of the past to draw")
	flag.Parse()
	if err := run(os.Stdout, *prometheus, *file, *minutes); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, prometheus, file string, minutes int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	until := time.Now()
	height := 0.0
	for _, p := range d.Panels {
		height = max(height, p.GridPos.Y+p.GridPos.H)
	}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%g" font-family="sans-serif" font-size="11"><rect width="100%%" height="100%%" fill="#f4f5f5"/>`+"\n", 24*column+20, 40+height*row)
	fmt.Fprintf(w, `<text x="10" y="24" font-size="16">%s</text>`+"\n", html.EscapeString(d.Title))
	for _, p := range d.Panels {
		var all []series
		for _, target := range p.Targets {
			found, err := query(prometheus, target.Expr, target.LegendFormat, until.Add(-time.Duration(minutes)*time.Minute), until)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Title, err)
			}
			all = append(all, found...)
		}
		p.draw(w, all, float64(until.Add(-time.Duration(minutes)*time.Minute).Unix()), float64(until.Unix()))
	}
	_, err = fmt.Fprintln(w, "</svg>")
	return err
}

var label = regexp.MustCompile(`{{ *([a-z_]+) *}}`)

// query returns the values of a PromQL expression in a time range, as one series for each set of
// labels. legend is a template for the names of the series, such as "{{verb}}".
func query(prometheus, expr, legend string, first, until time.Time) ([]series, error) {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "1m")
	answer, err := http.Get(prometheus + "/api/v1/query_range?" + url.Values{
		"query": {expr}, "step": {"5"}, "start": {fmt.Sprint(first.Unix())}, "end": {fmt.Sprint(until.Unix())},
	}.Encode())
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var said struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return nil, err
	}
	if said.Error != "" {
		return nil, fmt.Errorf("%s: %s", expr, said.Error)
	}
	var out []series
	for _, r := range said.Data.Result {
		s := series{name: label.ReplaceAllStringFunc(legend, func(m string) string { return r.Metric[label.FindStringSubmatch(m)[1]] })}
		for _, v := range r.Values {
			moment, _ := v[0].(float64)
			text, _ := v[1].(string)
			if value, err := strconv.ParseFloat(text, 64); err == nil && value == value {
				s.points = append(s.points, [2]float64{moment, value})
			}
		}
		out = append(out, s)
	}
	return out, nil
}
