// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAlerts checks that a controller has the metrics that the alerts name, and that one which does not
// lead sees what is overdue.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(shared.root, "tenancy", "config", "alerts", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	standby, err := shared.startControllerUntil("Attempting to acquire leader lease", "--metrics-address", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.stop(); err != nil {
			t.Error(err)
		}
	})
	text := ""
	wait(t, "there are metrics", func() error {
		answer, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		text = string(body)
		return err
	})
	found := 0
	for _, line := range strings.Split(string(rules), "\n") {
		if !strings.Contains(line, "expr:") {
			continue
		}
		for _, name := range regexp.MustCompile(`[a-z]+_[a-z_]+(\{[^}]*\})?`).FindAllString(line, -1) {
			found++
			if !strings.Contains(text, "\n"+name+" ") {
				t.Errorf("the controller has no metric %s", name)
			}
		}
	}
	if found != 3 || !strings.Contains(text, "\ntenancy_overdue_ends 0\n") {
		t.Errorf("%d metrics", found)
	}
}
