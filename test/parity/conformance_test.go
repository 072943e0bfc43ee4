// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/harness/controlplane"
)

var conformance = flag.String("conformance", "", "a regular expression of the tests in testdata/conformance.txt that run also; all take half an hour")

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
	cert, key, err := k.authority.Client("parity-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	config := &rest.Config{Host: tee.serve(t, k), QPS: -1}
	config.TLSClientConfig = rest.TLSClientConfig{CAFile: k.files.CA, CertData: cert, KeyData: key}
	file := clientcmdapi.NewConfig()
	file.Clusters["c"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: k.files.CA}
	file.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	file.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	file.CurrentContext = "c"
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*file, kubeconfig); err != nil {
		t.Fatal(err)
	}
	// The node reports nothing after its creation.
	controlplane.StartManager(t, kubeconfig, "--root-ca-file="+k.files.CA, "--service-account-private-key-file="+k.files.ServiceAccountSigningKey,
		"--cluster-signing-cert-file="+k.files.CA, "--cluster-signing-key-file="+filepath.Join(filepath.Dir(k.files.CA), "ca.key"),
		"--node-monitor-grace-period=24h", "--kube-api-qps=500", "--kube-api-burst=1000")
	controlplane.StartScheduler(t, kubeconfig)
	startNode(t, config, "parity")
	report := filepath.Join(dir, "report.json")
	kubectl, _ := program(t, "kubectl")
	run := exec.CommandContext(t.Context(), runner, "--procs=4", "--no-color", "--timeout=2h", "--json-report="+filepath.Base(report), "--output-dir="+dir,
		"--silence-skips", "--focus=("+strings.Join(names, "|")+")$", suite, "--", "--provider=local", "--kubeconfig="+kubeconfig, "--kubectl-path="+kubectl,
		"--dump-logs-on-failure=false", "--e2e-output-dir="+dir)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		t.Logf("upstream's tests: %v", err)
	}
	logOutcomes(t, report, len(names))
	tee.compareAll()
}

// selected returns expressions for the names of the tests in the list that the flag selects. It fails the test if upstream
// has no test of a name.
func selected(t *testing.T, suite string) []string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join("testdata", "conformance.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tests, err := exec.CommandContext(t.Context(), suite, "--list-tests").Output()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := regexp.Compile(*conformance)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); {
		name := lines.Text()
		if name == "" || strings.HasPrefix(name, "#") || !chosen.MatchString(name) {
			continue
		}
		if !bytes.Contains(tests, []byte(": "+name+"\n")) {
			t.Errorf("upstream has no test %q", name)
		}
		out = append(out, regexp.QuoteMeta(name))
	}
	if len(out) == 0 {
		t.Fatalf("no test matches %q", *conformance)
	}
	return out
}

// logOutcomes logs which of upstream's tests failed, and fails the test unless as many ran as are wanted.
func logOutcomes(t *testing.T, path string, wanted int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reports := []struct {
		SpecReports []struct{ LeafNodeType, LeafNodeText, State string }
	}{}
	if err := json.Unmarshal(text, &reports); err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType != "It" || spec.State == "skipped" {
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
