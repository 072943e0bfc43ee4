// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness/controlplane"
)

var conformance = flag.String("conformance", "",
	"a regular expression of those tests in testdata/conformance.txt that also run; all of them take half an hour")

// TestConformance runs upstream's tests of conformance that need no kubelet, beside upstream's controllers and scheduler.
// What the tests themselves say is logged alone, as in TestCommands. But they must run.
func TestConformance(t *testing.T) {
	if *conformance == "" {
		t.Skip("without -conformance")
	}
	suite, built := program(t, "e2e.test")
	runner, other := program(t, "ginkgo")
	if !built || !other {
		t.Fatal("bin/e2e.test or bin/ginkgo is missing: run `make bin/e2e.test bin/ginkgo`")
	}
	names := selected(t, suite)
	k := newKeys(t)
	tee := newTee(t, k.startAll(t, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"))
	config := k.administrator(t, tee.serve(t, k))
	kubeconfig := k.kubeconfig(t, config.Host, &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData})
	// The node reports nothing after its creation.
	controlplane.StartManager(t, kubeconfig, "--node-monitor-grace-period=24h", "--kube-api-qps=500", "--kube-api-burst=1000",
		"--root-ca-file="+k.files.CA, "--service-account-private-key-file="+k.files.ServiceAccountSigningKey,
		"--cluster-signing-cert-file="+k.files.CA, "--cluster-signing-key-file="+filepath.Join(filepath.Dir(k.files.CA), "ca.key"))
	controlplane.StartScheduler(t, kubeconfig)
	startNode(t, config, "parity")
	dir, report := t.TempDir(), "report.json"
	kubectl, _ := program(t, "kubectl")
	run := exec.CommandContext(t.Context(), runner, "--procs=4", "--no-color", "--silence-skips", "--timeout=2h",
		"--json-report="+report, "--output-dir="+dir, "--focus=("+strings.Join(names, "|")+")$", suite, "--", "--provider=local",
		"--kubeconfig="+kubeconfig, "--kubectl-path="+kubectl, "--dump-logs-on-failure=false", "--e2e-output-dir="+dir)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		t.Logf("upstream's tests: %v", err)
	}
	logOutcomes(t, filepath.Join(dir, report), len(names))
	tee.compareAll()
}

// conformanceList returns the names of the tests that run, and expressions for those that are left out.
func conformanceList(t *testing.T) (names []string, left []*regexp.Regexp) {
	t.Helper()
	list, err := os.ReadFile(filepath.Join("testdata", "conformance.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSuffix(line, "\n")
		if expression, ok := strings.CutPrefix(line, "- "); ok {
			left = append(left, regexp.MustCompile(expression))
		} else if line != "" && !strings.HasPrefix(line, "#") {
			names = append(names, line)
		}
	}
	return names, left
}

// selected returns expressions for the names of the tests that the flag selects. It fails the test if upstream has no test of a
// name.
func selected(t *testing.T, suite string) []string {
	t.Helper()
	tests, err := exec.CommandContext(t.Context(), suite, "--list-tests").Output()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := regexp.Compile(*conformance)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := conformanceList(t)
	out := []string{}
	for _, name := range names {
		if !bytes.Contains(tests, []byte(": "+name+"\n")) {
			t.Errorf("upstream has no test %q", name)
		}
		if chosen.MatchString(name) {
			out = append(out, regexp.QuoteMeta(name))
		}
	}
	if len(out) == 0 {
		t.Fatalf("no test matches %q", *conformance)
	}
	return out
}

// TestConformanceList checks that each of upstream's conformance tests runs, or is left out for a reason.
func TestConformanceList(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "upstream", "kubernetes", "test", "conformance", "testdata", "conformance.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ Codename string }{}
	if err := yaml.Unmarshal(text, &tests); err != nil {
		t.Fatal(err)
	}
	names, left := conformanceList(t)
	if !slices.IsSorted(names) {
		t.Error("the names are not sorted")
	}
	used, known := map[int]bool{}, map[string]bool{}
	for _, test := range tests {
		known[test.Codename] = true
		if slices.Contains(names, test.Codename) {
			continue
		}
		i := slices.IndexFunc(left, func(e *regexp.Regexp) bool { return e.MatchString(test.Codename) })
		if i < 0 {
			t.Errorf("%q does not run, and no reason is given", test.Codename)
		}
		used[i] = true
	}
	for i, expression := range left {
		if !used[i] {
			t.Errorf("%q leaves nothing out", expression)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "[Conformance]") && !known[name] {
			t.Errorf("upstream has no conformance test %q", name)
		}
	}
}

// logOutcomes logs which of upstream's tests failed, and fails the test unless as many ran as are wanted.
func logOutcomes(t *testing.T, path string, wanted int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	reports := []struct {
		SpecReports []struct {
			LeafNodeType, LeafNodeText, State string
			NumAttempts                       int
		}
	}{}
	if err := json.Unmarshal(text, &reports); err != nil {
		t.Error(err)
		return
	}
	states := map[string]int{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType != "It" {
				continue
			}
			if spec.State == "skipped" {
				if spec.NumAttempts > 0 { // the test itself decided so, and the runner skips the others before
					t.Logf("%s: skipped", spec.LeafNodeText)
				}
				continue
			}
			states[spec.State]++
			if spec.State != "passed" {
				t.Logf("%s: %s", spec.LeafNodeText, spec.State)
			}
		}
	}
	t.Logf("upstream's tests: %v", states)
	ran := 0
	for _, n := range states {
		ran += n
	}
	if ran != wanted {
		t.Errorf("%d of upstream's tests ran, want %d", ran, wanted)
	}
}
