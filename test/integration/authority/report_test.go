// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// reported protects the label env=prod in the namespace shop, all labels of example.com in the
// whole cluster, and the annotation note on deployments. It also holds objects with and without
// these.
const reported = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {example.com/tenant: a}}
---
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: other}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ProtectedAttribute
metadata: {name: env, namespace: shop}
spec: {attributeKind: Label, attributeName: env, protectedValues: [prod], mode: Audit}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: domain}
spec: {attributeKind: Label, attributeName: example.com/*}
---
apiVersion: authority.kube-granular.dev/v1alpha1
kind: ClusterProtectedAttribute
metadata: {name: note}
spec: {attributeKind: Annotation, attributeName: note, resources: [{group: apps, resource: deployments}]}
---
apiVersion: v1
kind: Pod
metadata: {name: prod, namespace: shop, labels: {env: prod}, annotations: {note: free here}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: test, namespace: shop, labels: {env: test}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: prod, namespace: other, labels: {env: prod}}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {note: kept}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, env: prod, example.com/tier: gold}}
    spec: {containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: ControllerRevision
metadata: {name: old, namespace: shop}
revision: 1
data: {spec: {template: {metadata: {labels: {env: prod}}}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

const thing = `
apiVersion: example.com/v1
kind: Thing
metadata: {name: one, namespace: other, labels: {example.com/tier: silver}}
`

// report runs `kube-granular protected report` and returns both output streams.
func report(t *testing.T, c *cluster.Cluster, user string, args ...string) (out, errs string, err error) {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kube-granular"), append([]string{"protected", "report", "--cache-dir", t.TempDir(), "--kubeconfig", c.Kubeconfig(user)}, args...)...)
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	return o.String(), e.String(), err
}

// protect protects the label example.com/tier in a namespace.
func protect(t *testing.T, namespace string) {
	t.Helper()
	ours, _ := clients(t, on)
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes(namespace).Create(t.Context(), attribute("tier"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestReport checks that the report lists exactly the protected labels and annotations that
// objects have, including those in pod templates and in controller revisions.
func TestReport(t *testing.T) {
	c, _ := start(t, "--feature-gates", gateOn)
	harness.MustKubectl(t, c, reported, "create", "-f", "-")
	harness.MustKubectl(t, c, "", "wait", "--for=condition=Established", "crd/things.example.com")
	harness.MustKubectl(t, c, thing, "create", "-f", "-")

	shop := []string{
		"controllerrevisions.apps shop/old .data.spec.template.metadata.labels[env]=prod protectedattribute/env",
		"deployments.apps shop/web .metadata.annotations[note]=kept clusterprotectedattribute/note",
		"deployments.apps shop/web .spec.template.metadata.labels[env]=prod protectedattribute/env",
		"deployments.apps shop/web .spec.template.metadata.labels[example.com/tier]=gold clusterprotectedattribute/domain",
		"pods shop/prod .metadata.labels[env]=prod protectedattribute/env",
	}
	everything := append([]string{
		"namespaces /shop .metadata.labels[example.com/tenant]=a clusterprotectedattribute/domain",
		"things.example.com other/one .metadata.labels[example.com/tier]=silver clusterprotectedattribute/domain",
	}, shop...)
	slices.Sort(everything)
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{nil, everything},
		{[]string{"--namespace", "shop"}, shop},
		{[]string{"deploy", "things.example.com"}, []string{shop[1], shop[2], shop[3], everything[len(everything)-1]}},
		{[]string{"pods", "--namespace", "other"}, nil},
	} {
		out, errs, err := report(t, c, "admin", append(tc.args, "-o", "json")...)
		if err != nil || errs != "" {
			t.Errorf("%v: %v: %s", tc.args, err, errs)
			continue
		}
		var found struct{ Items []protected.Row }
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatalf("%v: %v in %s", tc.args, err, out)
		}
		var got []string
		for _, r := range found.Items {
			resource := r.Resource
			if r.Group != "" {
				resource += "." + r.Group
			}
			got = append(got, fmt.Sprintf("%s %s/%s %s=%s %s", resource, r.Namespace, r.Name, r.Field, r.Value, strings.Join(r.By, ",")))
		}
		slices.Sort(got)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%v: %s", tc.args, diff)
		}
	}

	if out, _, err := report(t, c, "admin", "pods"); err != nil || !strings.Contains(out, "pods/prod") || strings.Contains(out, "VALUE") {
		t.Errorf("the table: %v\n%s", err, out)
	}
}

// TestReportOfPages checks that a report reads all pages of a list.
func TestReportOfPages(t *testing.T) {
	namespace(t, on, "pages")
	protect(t, "pages")
	const objects = protected.PageSize*2 + 1
	var all strings.Builder
	for i := range objects {
		fmt.Fprintf(&all, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d, namespace: pages, labels: {example.com/tier: gold}}}\n", i)
	}
	harness.MustKubectl(t, on, all.String(), "create", "-f", "-")
	out, errs, err := report(t, on, "admin", "configmaps", "-n", "pages")
	if err != nil || errs != "" || strings.Count(out, "configmaps/c") != objects {
		t.Errorf("%d of %d objects: %v: %s", strings.Count(out, "configmaps/c"), objects, err, errs)
	}
}

// TestReportIsNotComplete checks that the report names what it can't read, and that the command
// fails then.
func TestReportIsNotComplete(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"nobody may read attributes", []string{"--as", "nobody"}, "read clusterprotectedattributes: "},
		{"a resource that is not there", []string{"nonsense"}, `no resource "nonsense"`},
		{"an unknown format", []string{"-o", "xml"}, `"xml"`},
	} {
		if out, errs, err := report(t, on, "admin", tc.args...); err == nil || !strings.Contains(errs, tc.want) || out != "" {
			t.Errorf("%s: %v: %s%s", tc.name, err, out, errs)
		}
	}
	namespace(t, on, "partly")
	protect(t, "partly")
	harness.MustKubectl(t, on, "", "create", "clusterrolebinding", "partly", "--clusterrole=view", "--user=partly")
	harness.MustKubectl(t, on, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: partly, labels: {example.com/tier: gold}}}",
		"create", "-f", "-")
	// The role view does not allow to list secrets.
	out, errs, err := report(t, on, "admin", "configmaps", "secrets", "--as", "partly", "-n", "partly")
	if err == nil || !strings.Contains(out, "configmaps/c") || !strings.Contains(errs, "list secrets: ") || !strings.Contains(errs, "not complete: 1 ") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	off, _ := start(t)
	if _, errs, err := report(t, off, "admin"); err == nil || !strings.Contains(errs, "does not serve protected attributes") {
		t.Errorf("without the gate: %v: %s", err, errs)
	}
}
