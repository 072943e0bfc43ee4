// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"regexp"
	"strings"
)

// File is the path of the page.
const File = "docs/generated/conformance.md"

// tree is the folder of the patched tree.
const tree = "upstream/kubernetes"

const header = `<!-- Written by hack/update-docs.sh from upstream's list of conformance tests. Don't edit it. -->

# Upstream's conformance tests

Upstream has a list of tests that a cluster must pass to be called Kubernetes. This page has all of them for the
version that the series is made for: which run against a [kind cluster](../install/kind.md) with the patched server, and
why the others do not. ` + "`E2E_FOCUS`" + ` selects others, for example all on a machine that can pull images:
` + "`E2E_FOCUS='\\[Conformance\\]' make test-kind-e2e`" + `.

`

// reason is why tests do not run.
type reason struct {
	// names matches the names of the tests.
	names *regexp.Regexp
	text  string
}

func because(names, text string) reason { return reason{regexp.MustCompile(names), text} }

// tags are reasons by a part of the name, and areas those by what is tested. A missing image stands between them.
var (
	tags = []reason{
		because(`Projected PodCertificate .*(should issue certificate|should honor UserAnnotations)`,
			"They run a shell in a pod, which the image that is built here does not have."),
		because(`Projected PodCertificate .*mTLS connection`,
			"They need a test program that knows its version, and the one that is built here does not."),
		because(`ClusterTrustBundle.* should prevent a pod from starting`,
			"They wait for a state of kubelet for ten seconds, which is too short beside other tests."),
		because(`\[Slow\]`, "They are slow: they wait for minutes."),
		because(`\[Disruptive\]`, "They are disruptive: they evict the pods of other tests."),
	}
	areas = []reason{
		because(`^\[sig-node\]`, "They test kubelet and the container runtime, which no patch changes. Not tried."),
		because(`^\[sig-storage\]`, "They test volumes, which kubelet and their drivers provide. No patch changes them. Not tried."),
		because(`^\[sig-network\]`, "They test kube-proxy, DNS and the pod network, which no patch changes. Not tried."),
		because(`^\[sig-scheduling\]`, "They test the scheduler, which no patch changes. Not tried."),
		because(`^\[sig-(cli|instrumentation|architecture)\]`,
			"They test kubectl, events or the number of nodes, which no patch changes. Not tried."),
		because(`^\[sig-apps\]`,
			"They test controllers, of which `make test-kind-closed` tries those whose pods need no further image. Not tried."),
	}
)

// Page returns the page for the patched tree below root.
func Page(root string) ([]byte, error) {
	all, err := tests(root)
	if err != nil {
		return nil, err
	}
	commands, err := runs(root)
	if err != nil {
		return nil, err
	}
	byStatus := map[string][]string{}
	var order []string
	for _, c := range commands {
		order = append(order, runsIn(c))
	}
	for _, r := range tags {
		order = append(order, r.text)
	}
	var missing, rest []string
	for _, t := range all {
		status, image, err := statusOf(root, t, commands)
		if err != nil {
			return nil, err
		}
		if byStatus[status] == nil && image {
			missing = append(missing, status)
		}
		byStatus[status] = append(byStatus[status], t.Name)
	}
	for _, r := range areas {
		rest = append(rest, r.text)
	}
	order = append(append(order, missing...), rest...)
	var b strings.Builder
	b.WriteString(header)
	fmt.Fprintf(&b, "| tests | of %d |\n| --- | --- |\n", len(all))
	for _, status := range order {
		if len(byStatus[status]) == 0 {
			return nil, fmt.Errorf("no conformance test is left for the reason %q", status)
		}
		fmt.Fprintf(&b, "| %s | %d |\n", status, len(byStatus[status]))
	}
	for _, status := range order {
		fmt.Fprintf(&b, "\n## %s\n\n```\n%s\n```\n", strings.TrimSuffix(status, "."), strings.Join(byStatus[status], "\n"))
		delete(byStatus, status)
	}
	if len(byStatus) > 0 {
		return nil, fmt.Errorf("tests of no known reason: %v", byStatus)
	}
	return []byte(b.String()), nil
}

func runsIn(r run) string { return "They run in `" + r.command + "`." }

// statusOf returns where a test runs, or why not, and reports whether the reason is an image.
func statusOf(root string, t test, commands []run) (status string, image bool, err error) {
	for _, c := range commands {
		if c.has(t.Name) {
			return runsIn(c), false, nil
		}
	}
	for _, r := range tags {
		if r.names.MatchString(t.Name) {
			return r.text, false, nil
		}
	}
	names, err := images(root, t.File)
	if err != nil {
		return "", false, err
	}
	if len(names) > 0 {
		return fmt.Sprintf("Their file uses an image that is not built here: %s.", strings.Join(names, ", ")), true, nil
	}
	for _, r := range areas {
		if r.names.MatchString(t.Name) {
			return r.text, false, nil
		}
	}
	return "", false, fmt.Errorf("no reason why the conformance test %s does not run", t.Name)
}
