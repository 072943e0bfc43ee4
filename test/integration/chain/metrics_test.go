// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/pkg/examplewebhook"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// counted makes a granular request that affects all metrics of KEP-3221, and returns the
// metrics before and after it. The server asks about patch, granular, granular:metadata,
// granular:labels, granular:label(own.example.com) and get.
func counted(t *testing.T) (before, after map[string]float64) {
	t.Helper()
	path := made(t, "default")
	user := fmt.Sprintf("metrics-%d", harness.Unique())
	allow(t, user, "", []string{"configmaps"}, "granular", "get")
	asked := &asking{}
	good := newHook(t, asked, "metrics-good", `allow: [{verbs: ["granular:label(own.example.com)"]}]
deny: [{verbs: ["granular:metadata"]}]`)
	bad := newHook(t, asked, "metrics-bad", `faults: [{verbs: ["granular:labels"], garbage: true}, {verbs: ["granular:metadata"], delay: 20s}]`)
	plain := newHook(t, asked, "metrics-plain", "")
	use(t,
		plain.in(settings{match: []string{aboutObjects, notGranular}}),
		bad.in(settings{failure: "NoOpinion", timeout: "500ms", match: []string{aboutObjects, isGranular, "request.resourceAttributes.verb != 'granular' || [1][2] == 1"}}),
		good.in(settings{match: []string{aboutObjects}}), node, rbac)
	before = scrape(t, on)
	expect(t, send(t, user, http.MethodPatch, path, "merge", label(user)), 200, "")
	return before, scrape(t, on)
}

// TestMetricsOfTheChain checks that the metrics of KEP-3221 count each check of a granular
// request.
func TestMetricsOfTheChain(t *testing.T) {
	before, after := counted(t)
	for name, want := range map[string]float64{
		`decisions_total{decision="allowed",name="metrics-good",type="Webhook"}`:        1,
		`decisions_total{decision="denied",name="metrics-good",type="Webhook"}`:         1,
		`decisions_total{decision="allowed",name="rbac",type="RBAC"}`:                   2, // granular, get
		`webhook_evaluations_total{name="metrics-good",result="success"}`:               6,
		`webhook_evaluations_total{name="metrics-plain",result="success"}`:              2, // patch, get
		`webhook_evaluations_total{name="metrics-bad",result="success"}`:                1,
		`webhook_evaluations_total{name="metrics-bad",result="error"}`:                  1,
		`webhook_evaluations_total{name="metrics-bad",result="timeout"}`:                1,
		`webhook_duration_seconds_count{name="metrics-good",result="success"}`:          6,
		`webhook_evaluations_fail_open_total{name="metrics-bad",result="error"}`:        1,
		`webhook_evaluations_fail_open_total{name="metrics-bad",result="timeout"}`:      1,
		`match_condition_evaluation_errors_total{name="metrics-bad",type="Webhook"}`:    1, // granular
		`match_condition_exclusions_total{name="metrics-plain",type="Webhook"}`:         4,
		`match_condition_exclusions_total{name="metrics-bad",type="Webhook"}`:           2,
		`match_condition_evaluation_seconds_count{name="metrics-plain",type="Webhook"}`: 6,
		`config_controller_automatic_reloads_total{status="failure"}`:                   0,
	} {
		name = "apiserver_authorization_" + name
		if got := after[name] - before[name]; got != want {
			t.Errorf("%s grew by %v, wanted %v", name, got, want)
		}
	}
	for _, name := range []string{
		`config_controller_automatic_reloads_total{status="success"}`,
		`config_controller_automatic_reload_last_timestamp_seconds{status="success"}`,
	} {
		if after["apiserver_authorization_"+name] == 0 {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestMetricsOfCancelled checks a request that its client gives up while a webhook works on a
// permission. The metrics must count the check as canceled, and not as a failure after which
// the other authorizers decide (fail open).
func TestMetricsOfCancelled(t *testing.T) {
	path := made(t, "default")
	allow(t, "cancelled", "", []string{"configmaps"}, "granular", "get")
	h := newHook(t, &asking{}, "metrics-cancelled", `faults: [{verbs: ["granular:metadata"], delay: 20s}]`)
	there := make(chan struct{})
	h.pause = func(answered examplewebhook.Record) {
		if r := answered.Review.ResourceAttributes; r != nil && r.Verb == "granular:metadata" {
			close(there)
		}
	}
	use(t, h.in(settings{failure: "NoOpinion", timeout: "30s", match: []string{aboutObjects, "request.user == 'cancelled'"}}), node, rbac)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := harness.Connect(t, on, "admin").Do(ctx, harness.Call{
			As: harness.Impersonating("cancelled"), Method: http.MethodPatch, Path: path, ContentType: harness.ContentTypes["merge"], Body: label(1),
		})
		ended <- err
	}()
	<-there
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
	harness.Until(t, "a cancelled question", func() bool {
		now := scrape(t, on)
		return now[`apiserver_authorization_webhook_evaluations_total{name="metrics-cancelled",result="canceled"}`] == 1 &&
			now[`apiserver_authorization_webhook_duration_seconds_count{name="metrics-cancelled",result="canceled"}`] == 1
	})
	for name, value := range scrape(t, on) {
		if strings.HasPrefix(name, `apiserver_authorization_webhook_evaluations_fail_open_total{name="metrics-cancelled"`) && value != 0 {
			t.Errorf("%s is %v", name, value)
		}
	}
}

// metricName matches the name of a metric in a dashboard or a rule.
var metricName = regexp.MustCompile(`apiserver_[a-z_]+`)

// ofTheKEP lists the metrics that KEP-3221 names.
var ofTheKEP = []string{
	"apiserver_authorization_decisions_total",
	"apiserver_authorization_webhook_evaluations_total",
	"apiserver_authorization_webhook_duration_seconds",
	"apiserver_authorization_webhook_evaluations_fail_open_total",
	"apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
	"apiserver_authorization_config_controller_automatic_reloads_total",
	"apiserver_authorization_match_condition_evaluation_errors_total",
	"apiserver_authorization_match_condition_exclusions_total",
	"apiserver_authorization_match_condition_evaluation_seconds",
}

// TestMonitoring checks that the dashboard and the alerts name only metrics that the server
// has, and that the dashboard and authorizers.md name all metrics of KEP-3221.
func TestMonitoring(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	// The server serves these metrics only once they have a value, or with the gate AuthorityDelegation, so they
	// are not among those scraped here. TestMetricsOfDelegations has those of delegations.
	known := []string{
		"apiserver_granular_authorization_exclusion_updates_total",
		"apiserver_granular_authorization_delegations", "apiserver_granular_authorization_delegation_requests_total",
	}
	_, after := counted(t)
	for name := range after {
		name, _, _ = strings.Cut(name, "{")
		known = append(known, name)
	}
	for _, file := range []string{filepath.Join("monitoring", "dashboard.json"), "authorizers.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range ofTheKEP {
			if !strings.Contains(string(text), name) {
				t.Errorf("%s does not name %s", file, name)
			}
		}
	}
	for _, file := range []string{"dashboard.json", "rules.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", "monitoring", file))
		if err != nil {
			t.Fatal(err)
		}
		found := metricName.FindAllString(string(text), -1)
		if len(found) < 8 {
			t.Errorf("%s names %d metrics", file, len(found))
		}
		for _, name := range found {
			if !slices.Contains(known, name) {
				t.Errorf("%s names %s, which the server does not have", file, name)
			}
		}
	}
}

// TestAlerts runs the unit tests of the alerts with promtool, also those of the controller of tenants.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("the alerts are not tested: there is no promtool, which the Debian package prometheus holds")
	}
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"docs/monitoring", "tenancy/config/alerts"} {
		for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
			cmd := exec.CommandContext(t.Context(), promtool, args...)
			cmd.Dir = filepath.Join(root, dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: promtool %v: %v\n%s", dir, args, err, out)
			}
		}
	}
}
