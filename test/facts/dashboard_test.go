// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// panel is a part of docs/monitoring/dashboard.json.
type panel struct {
	Type, Title string
	GridPos     struct{ H, W, X, Y float64 }
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Custom struct{ AxisLabel string }
		}
	}
	Targets []struct{ Expr string }
}

func panels(t *testing.T) []panel {
	t.Helper()
	var dashboard struct{ Panels []panel }
	if err := json.Unmarshal([]byte(read(t, "docs", "monitoring", "dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	return dashboard.Panels
}

// TestPanels checks that each chart has a unit and says what its axis is, and that no two panels are in the same place.
func TestPanels(t *testing.T) {
	taken := map[[2]float64]string{}
	for _, p := range panels(t) {
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
	for _, p := range panels(t) {
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
