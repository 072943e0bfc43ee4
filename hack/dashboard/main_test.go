// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPanels checks that each chart has a unit and says what its axis is, and that no two panels are in the same place.
func TestPanels(t *testing.T) {
	taken := map[[2]float64]string{}
	for _, p := range read(t).Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]float64{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q is at %v, where %q is, or too wide", p.Title, p.GridPos, other)
				}
				taken[[2]float64{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		axis := p.FieldConfig.Defaults
		if axis.Unit == "" || axis.Custom.AxisLabel == "" || len(p.Targets) == 0 {
			t.Errorf("%q has the unit %q, the axis %q and %d expressions", p.Title, axis.Unit, axis.Custom.AxisLabel, len(p.Targets))
		}
	}
}

// TestExpressions parses all expressions of the dashboard, as recording rules.
func TestExpressions(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("the expressions are not parsed: there is no promtool, which the Debian package prometheus holds")
	}
	rules, n := "groups:\n- name: dashboard\n  rules:\n", 0
	for _, p := range read(t).Panels {
		for _, target := range p.Targets {
			n++
			rules += fmt.Sprintf("  - {record: r%d, expr: %q}\n", n, strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFormat checks how values are written with the units of the dashboard.
func TestFormat(t *testing.T) {
	var p panel
	for _, tc := range []struct {
		unit  string
		value float64
		want  string
	}{{"s", 0.0123, "12.3 ms"}, {"s", 90, "90 s"}, {"s", 31104000, "360 d"}, {"reqps", 2.5, "2.5/s"}, {"short", 3, "3"}} {
		p.FieldConfig.Defaults.Unit = tc.unit
		if got := p.format(tc.value); got != tc.want {
			t.Errorf("%v with unit %s: %s, wanted %s", tc.value, tc.unit, got, tc.want)
		}
	}
}

// TestDraw checks that a panel is drawn with its axis.
func TestDraw(t *testing.T) {
	var out strings.Builder
	for _, p := range read(t).Panels {
		p.draw(&out, []series{{"a", [][2]float64{{1, 2}, {2, 3}}}}, 1, 2)
	}
	for _, says := range []string{"writes in the interval", "delegations", "time that is left", "<path d="} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("%q is not drawn", says)
		}
	}
}
