// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roletest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// weakened are the cases of recipes in which an export knowingly differs, by file.
var weakened = map[string][]string{
	"certificate-expiry.test.yaml": {"the metadata of one", "the metadata of all"}, // the verb readmetadata is ours
	"inventory.test.yaml":          {"the metadata of one", "the metadata of all", ""},
	"expose-service.test.yaml":     {"a load balancer", "where its traffic may come from"}, // the server chooses ports
	"restart-sets.test.yaml":       {"a restart"},                                          // the server counts templates in an annotation
}

// unexportable are the recipes that can't be exported, with what is said about it.
var unexportable = map[string]string{
	"certificate-operator.test.yaml": "the server asks no admission policy about resources of admissionregistration.k8s.io",
}

// TestExportedRecipes runs the tests of all recipes on a server that authorizes no fields, with what an export writes for the
// roles. All differences are in the lists above.
func TestExportedRecipes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recipes, "*.test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	reports, _ := judge(t, append([]string{"--exported"}, files...)...)
	if len(reports) != len(files) {
		t.Fatalf("%d reports of %d files", len(reports), len(files))
	}
	differs, passed := map[string][]string{}, 0
	for i := range reports {
		r := &reports[i]
		name := filepath.Base(r.File)
		for _, c := range r.Cases {
			switch c.Outcome {
			case "passed":
				passed++
			case "differs":
				differs[name] = append(differs[name], c.Name)
			default:
				t.Errorf("%s:\n%s", r.File, strings.Join(r.lines(), "\n"))
			}
		}
		said := ""
		for _, p := range r.Problems {
			said += p.Message
		}
		if why := unexportable[name]; (said == "") != (why == "") || !strings.Contains(said, why) {
			t.Errorf("%s: %q, wanted %q", name, said, why)
		}
	}
	if !maps.EqualFunc(differs, weakened, slices.Equal) {
		t.Errorf("differences %q, wanted %q", differs, weakened)
	}
	if passed < 150 {
		t.Errorf("only %d cases passed", passed)
	}
}

const exportedTest = `
apiVersion: test.kube-granular.dev/v1alpha1
kind: RoleTest
given:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: painter}
  rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, granular, "granular:label(paint.example)"]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: painter, namespace: default}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: painter}
  subjects: [{kind: User, name: pia}, {kind: User, name: gil}]
- apiVersion: authority.kube-granular.dev/v1alpha1
  kind: ClusterProtectedAttribute
  metadata: {name: gold}
  spec: {attributeKind: Label, attributeName: paint.example/colour, protectedValues: [gold], roleRef: {kind: ClusterRole, name: gilder}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {name: gilder}
  rules: []
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: gilder}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: gilder}
  subjects: [{kind: User, name: gil}]
- {apiVersion: v1, kind: ConfigMap, metadata: {name: wall, namespace: default}}
cases:
- name: red
  as: {user: pia}
  patch: {resource: configmaps, name: default/wall, merge: {metadata: {labels: {paint.example/colour: red}}}}
  expect: allowed
- name: gold
  as: {user: pia}
  patch: {resource: configmaps, name: default/wall, merge: {metadata: {labels: {paint.example/colour: gold}}}}
  expect: {refused: {needs: ClusterRole/gilder}}
- name: gold by a gilder
  as: {user: gil}
  patch: {resource: configmaps, name: default/wall, merge: {metadata: {labels: {paint.example/colour: gold}}}}
  expect: allowed
- name: data
  as: {user: pia}
  update: {resource: configmaps, name: default/wall, merge: {data: {a: b}}}
  expect: {refused: {field: .data}}
- name: selected
  as: {user: pia, selects: {kind: ClusterRole, name: painter}}
  patch: {resource: configmaps, name: default/wall, merge: {metadata: {labels: {paint.example/colour: red}}}}
  expect: allowed
`

// TestExported checks that a test decides on a stock server as on ours, where the two must be equal, and that a role that is
// wider is noticed.
func TestExported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "painter.test.yaml")
	outcomes := func(text string, args ...string) (out []string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		reports, _ := judge(t, append(args, file)...)
		for _, c := range reports[0].Cases {
			out = append(out, c.Name+" "+c.Outcome)
		}
		for _, p := range reports[0].Problems {
			out = append(out, p.Message)
		}
		return out
	}
	all := []string{"red passed", "gold passed", "gold by a gilder passed", "data passed", "selected passed"}
	if got := outcomes(exportedTest); !slices.Equal(got, all) {
		t.Errorf("our server: %q", got)
	}
	all[4] = "selected differs"
	if got := outcomes(exportedTest, "--exported"); !slices.Equal(got, all) {
		t.Errorf("a stock server: %q", got)
	}
	wider := strings.Replace(exportedTest, `"granular:label(paint.example)"`, `"granular:label(paint.example)", "granular:data"`, 1)
	all[3] = "data failed"
	if got := outcomes(wider, "--exported"); !slices.Equal(got, all) {
		t.Errorf("a wider role: %q", got)
	}
}
