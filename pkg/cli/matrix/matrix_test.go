// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/schema/schematest"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
)

const example = `{"type":"object","properties":{
	"metadata":{"type":"object","x-kubernetes-permission-verb":"metadata","properties":{
		"labels":{"type":"object","x-kubernetes-permission-verb":"labels","x-kubernetes-permission-parameter-source":"label-key",
			"additionalProperties":{"type":"string","x-kubernetes-permission-verb":"label","x-kubernetes-permission-parameterized-by":"label-key","x-kubernetes-permission-parameter-treatment":"slash-delimited-prefix"}}}},
	"spec":{"type":"object","x-kubernetes-permission-verb":"specification","properties":{
		"replicas":{"type":"integer","x-kubernetes-permission-verb":"replicas"},
		"guard":{"type":"string","x-kubernetes-permission-verb":"guard","x-kubernetes-permission-excluded":true}}},
	"status":{"type":"object","x-kubernetes-permission-verb":"status","properties":{}}}}`

func thing(t *testing.T) *kinds.Kind {
	t.Helper()
	of := kubeschema.GroupVersion{Group: "example.com", Version: "v1"}
	return &kinds.Kind{
		Resource: of.WithResource("things"), Kind: of.WithKind("Thing"), Namespaced: true,
		Tree:         schematest.Compile(t, example),
		Subresources: []kinds.Subresource{{Name: "status", Kind: of.WithKind("Thing")}},
	}
}

// holds parses held rules from the form "VERBS on RESOURCE [NAME] [@NAMESPACE]".
func holds(rules ...string) []access.HeldRule {
	var out []access.HeldRule
	for i, text := range rules {
		rule, namespace, _ := strings.Cut(text, " @")
		verbs, resource, _ := strings.Cut(rule, " on ")
		resource, name, _ := strings.Cut(resource, " ")
		h := access.HeldRule{Binding: fmt.Sprint("b", i), Namespace: namespace,
			Rule: rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{resource},
				Verbs: strings.Fields(verbs)}}
		if name != "" {
			h.Rule.ResourceNames = []string{name}
		}
		out = append(out, h)
	}
	return out
}

// TestCells holds the level of each cell for a subject that holds certain rules. The levels are
// those by which the server would decide.
func TestCells(t *testing.T) {
	// Each letter of want is the level (y, s or -) of one permission, in the order metadata,
	// labels, label, specification, guard, replicas, status.
	for _, tc := range []struct {
		name, namespace string
		held            []access.HeldRule
		want            string
	}{
		{"nothing", "shop", nil, "-------"},
		{"update", "shop", holds("update on things"), "yyyy-y-"},
		{"patch of a name", "shop", holds("patch on things web"), "ssss-s-"},
		{"update of the status", "shop", holds("update on things/status"), "------y"},
		{"an excluded permission alone", "shop", holds("granular:guard on things"), "-------"},
		{"and update", "shop", holds("granular:guard update on things"), "yyyyyy-"},
		{"and granular", "shop", holds("granular granular:guard on things"), "----y--"},
		{"granular alone", "shop", holds("granular on things"), "-------"},
		{"a permission without granular", "shop", holds("granular:replicas on things"), "-------"},
		{"a general permission", "shop", holds("granular granular:specification on things"), "---y-y-"},
		{"in two rules", "shop", holds("granular on things", "granular:replicas on things web"), "-----s-"},
		{"some labels", "shop", holds("granular granular:label(a.example) on things"), "--s----"},
		{"all labels", "shop", holds("granular granular:labels on things"), "-yy----"},
		{"everything", "shop", holds("* on *"), "yyyyyyy"},
		{"everything in the namespace", "shop", holds("* on things @shop"), "yyyyyy-"},
		{"everything in another", "shop", holds("* on things @other"), "-------"},
		{"everywhere, of one namespace", "", holds("* on things @other"), "ssssss-"},
		{"everywhere", "", holds("update on things"), "yyyy-y-"},
		{"another resource", "shop", holds("update on others"), "-------"},
	} {
		m := New([]*kinds.Kind{thing(t)}, []Subject{{Name: "user:jane", Held: tc.held}}, tc.namespace)
		got, order := "", ""
		for _, r := range m.Rows {
			got += map[Level]string{No: "-", Some: "s", Yes: "y"}[r.Cells[0].Level]
			order += r.Resource + " " + r.Verb + "\n"
			if c := r.Cells[0]; (c.Level == No) != (c.Verb == "" && c.Binding == "") {
				t.Errorf("%s, %s: %+v", tc.name, r.Verb, c)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, wanted %s", tc.name, got, tc.want)
		}
		if want := "things.example.com granular:metadata\nthings.example.com granular:labels\nthings.example.com granular:label(<label-key prefix>)\nthings.example.com granular:specification\n" +
			"things.example.com granular:guard\nthings.example.com granular:replicas\nthings.example.com/status granular:status\n"; order != want {
			t.Fatalf("rows are\n%s", order)
		}
	}
}

// TestPrinted holds the output of a matrix as a table, a short table and CSV. A table that is not
// wide names each subject once, and only what the subject may change.
func TestPrinted(t *testing.T) {
	m := New([]*kinds.Kind{thing(t)}, []Subject{{Name: "=cmd", Held: holds("update on things")}, {Name: "user:b", Held: holds("granular granular:label(a.example) on things")},
		{Name: "user:c", Held: holds("* on *")}, {Name: "user:d"}}, "shop")
	var table, short, fields, sheet bytes.Buffer
	wide, narrow := printing.NewPage(&table, true), printing.NewPage(&short, false)
	for _, err := range []error{m.Table(wide, false), m.Table(wide, true), m.Table(narrow, true), m.Table(printing.NewPage(&fields, false), false), m.CSV(&sheet)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "things.example.com          6             5      0 (1 in part)"; !strings.Contains(table.String(), want) {
		t.Errorf("%q is not in\n%s", want, table.String())
	}
	for text, want := range map[string]string{
		table.String():  "yes by update, b0",
		short.String():  "SUBJECT   PERMISSIONS         OF\n=cmd      5 of 6              things.example.com\nuser:b    0 of 6, 1 in part   things.example.com\nuser:c    all                 things.example.com, things.example.com/status\nuser:d    <none>\n",
		fields.String(): "SUBJECT   RESOURCE                    ALLOWED   BY                          FIELDS\n=cmd      things.example.com          yes       update                      .metadata, .metadata.labels, …\nuser:b    things.example.com          some      granular:label(a.example)   .metadata.labels[*]\n",
		sheet.String():  "resource,verb,fields,excluded,'=cmd,user:b,user:c,user:d\nthings.example.com,granular:metadata,.metadata,false,yes,no,yes,no\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Count(sheet.String(), "\n") != 8 {
		t.Errorf("%s", sheet.String())
	}
}
