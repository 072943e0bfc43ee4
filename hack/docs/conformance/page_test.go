// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// TestPageHasEachTestOnce holds that the page lists each conformance test of upstream once.
func TestPageHasEachTestOnce(t *testing.T) {
	page, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	all, err := tests(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 400 {
		t.Errorf("only %d tests were found", len(all))
	}
	for _, one := range all {
		if n := strings.Count(string(page), "\n"+one.Name+"\n"); n != 1 {
			t.Errorf("%s is on the page %d times", one.Name, n)
		}
	}
}

// TestWhyTestsDoNotRun holds where some tests run, and why others do not.
func TestWhyTestsDoNotRun(t *testing.T) {
	commands, err := runs(root)
	if err != nil {
		t.Fatal(err)
	}
	const file = "test/e2e/apimachinery/namespace.go"
	for name, want := range map[string]string{
		"[sig-api-machinery] Garbage collector should delete pods created by rc when not orphaning [Conformance]": "make test-kind-e2e",
		"[sig-api-machinery] Namespaces should patch a Namespace [Conformance] [Serial]":                          "make test-kind-e2e",
		"[sig-api-machinery] ResourceQuota should manage the lifecycle of a ResourceQuota [Conformance]":          "make test-kind-e2e",
		"[sig-api-machinery] Watchers should be able to start watching [Conformance]":                             "make test-kind-e2e",
		"[sig-auth] ServiceAccounts should mount an API token into pods [Conformance]":                            "make test-kind-e2e",
		"[sig-api-machinery] Watchers should wait [Conformance] [Slow]":                                           "They are slow",
		"[sig-apps] Job should run a job to completion [Conformance]":                                             "make test-kind-closed",
		"[sig-auth] Projected PodCertificate [FeatureGate:A] should honor UserAnnotations for b [Conformance]":    "run a shell",
		"[sig-node] Pods should be updated [Conformance]":                                                         "They test kubelet",
	} {
		got, _, err := statusOf(root, test{name, file}, commands)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	got, image, err := statusOf(root, test{"[sig-apps] a [Conformance]", "test/e2e/common/node/image_volume.go"}, commands)
	if err != nil || !image || !strings.HasSuffix(got, ": Kitten.") {
		t.Errorf("a test of an image: %q, %t, %v", got, image, err)
	}
	if got, _, err := statusOf(root, test{"[sig-new] a [Conformance]", file}, commands); err == nil {
		t.Errorf("a test without a reason: %q", got)
	}
	if got, _, err := statusOf(root, test{"[sig-node] a [Conformance]", "test/e2e/none.go"}, commands); err == nil {
		t.Errorf("a test without a file: %q", got)
	}
	all, err := built(root)
	for _, name := range []string{"Agnhost", "APIServer", "BusyBox", "Pause"} {
		if err != nil || !slices.Contains(all, name) {
			t.Errorf("the images that are built: %v without %s, %v", all, name, err)
		}
	}
	both := run{focus: regexp.MustCompile("a"), skip: regexp.MustCompile("b")}
	if commands[0].has("[sig-api-machinery] a [Feature:b] [Conformance]") || both.has("ab") {
		t.Error("what is skipped runs")
	}
}
