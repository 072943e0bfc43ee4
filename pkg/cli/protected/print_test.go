// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/api/printing"
)

var rows = []Row{
	{Resource: "pods", Namespace: "shop", Name: "a", Kind: "Label", Field: "metadata.labels[env]", Key: "env",
		Value: "prod", By: []string{"protectedattribute/env"}},
	{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "b", Kind: "Annotation",
		Field: "spec.template.metadata.annotations[note]", Key: "note", Value: "two\nlines",
		By: []string{"clusterprotectedattribute/x", "protectedattribute/y"}},
	{Resource: "nodes", Name: "n", Kind: "Label", Field: "metadata.labels[zone]", Key: "zone",
		By: []string{"clusterprotectedattribute/z"}},
}

func printed(t *testing.T, format string, rows []Row) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	p, err := NewPrinter(format, &o, &e, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows {
		if err := errors.Join(p.Row(r), p.Page(r.Resource, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	p.Unread(errors.New("list things: no"))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String()
}

func TestTable(t *testing.T) {
	out, errs := printed(t, "table", rows)
	const shortened = "Texts with … are shortened; -o wide shows them whole.\n"
	out, found := strings.CutSuffix(out, shortened)
	if !found {
		t.Errorf("the last line does not say that a text is shortened:\n%s", out)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if n := len(strings.Fields(line)); n != 5 {
			t.Errorf("%d columns in %q", n, line)
		}
	}
	if !strings.HasPrefix(out, "NAMESPACE") || strings.Count(out, "\n") != 4 || strings.Contains(out, "prod") {
		t.Errorf("got\n%s", out)
	}
	if !strings.Contains(out, "deployments.apps/b") || !strings.Contains(out, "<none>") || !strings.Contains(out, "clusterprotectedattribute/x,…") {
		t.Errorf("got\n%s", out)
	}
	if errs != "warning: list things: no\n" {
		t.Errorf("beside it stands %q", errs)
	}
	out, _ = printed(t, "wide", rows)
	if !strings.Contains(out, "VALUE") || !strings.Contains(out, "clusterprotectedattribute/x,protectedattribute/y") || !strings.Contains(out, "prod") || !strings.Contains(out, `"two\nlines"`) || !strings.Contains(out, `""`) {
		t.Errorf("got\n%s", out)
	}
	// A table is not wider than a table may be. A wide one has all.
	long := []Row{{Resource: "pods", Namespace: "shop" + strings.Repeat("p", 300), Name: strings.Repeat("n", 300), Kind: "Label", Field: "metadata.labels[" + strings.Repeat("k", 300) + "]", Value: strings.Repeat("v", 300), By: []string{strings.Repeat("b", 300)}}}
	out, _ = printed(t, "table", long)
	for _, line := range strings.Split(out, "\n") {
		if n := utf8.RuneCountInString(line); n > printing.MaxWidth {
			t.Errorf("%d characters in %q", n, line)
		}
	}
	if out, _ := printed(t, "wide", long); strings.Contains(out, "…") || !strings.Contains(out, long[0].Value) {
		t.Errorf("-o wide shortens\n%s", out)
	}
	if out, errs := printed(t, "", nil); out != "" || !strings.Contains(errs, "No object has") {
		t.Errorf("of nothing: %q, %q", out, errs)
	}
}

func TestJSON(t *testing.T) {
	for _, want := range [][]Row{nil, rows[:1], rows} {
		out, _ := printed(t, "json", want)
		var got struct{ Items []Row }
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		if diff := cmp.Diff(append([]Row{}, want...), append([]Row{}, got.Items...)); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := NewPrinter("xml", nil, nil, nil); err == nil || !strings.Contains(err.Error(), "table, wide, json") {
		t.Errorf("got error %v", err)
	}
}

// TestHostileText holds that text of objects adds no row and no document to a report, that a terminal
// gets no control character, and that JSON has the text unchanged.
func TestHostileText(t *testing.T) {
	for _, payload := range []string{"\n---\nkind: ClusterRoleBinding\n", "\r\x1b[2J\x1b]0;title\x07", "\u202e\u2028\u0085", "   x\t", "\", \"x\": {\"", "\x7f\x00"} {
		row := Row{Group: "g" + payload, Resource: "things" + payload, Namespace: "shop" + payload, Name: "a" + payload, Kind: "Label",
			Field: "metadata.labels[k" + payload + "]", Key: "k" + payload, Value: "v" + payload, By: []string{"protectedattribute/x" + payload}}
		for _, format := range Formats {
			var out, errs strings.Builder
			p, err := NewPrinter(format, &out, &errs, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(p.Row(row), p.Page(row.Resource, 1)); err != nil {
				t.Fatal(err)
			}
			p.Unread(errors.New("list things" + payload))
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			for _, r := range out.String() + errs.String() {
				if r != '\n' && !strconv.IsPrint(r) {
					t.Errorf("-o %s: %q is printed in %q", format, r, out.String()+errs.String())
				}
			}
			if strings.Count(errs.String(), "\n") != 1 {
				t.Errorf("-o %s: %q", format, errs.String())
			}
			if format != "json" {
				rows, _ := strings.CutSuffix(out.String(), "Texts with … are shortened; -o wide shows them whole.\n")
				if strings.Count(rows, "\n") != 2 {
					t.Errorf("-o %s: %q", format, out.String())
				}
				continue
			}
			var got struct{ Items []Row }
			if err := json.Unmarshal([]byte(out.String()), &got); err != nil || !cmp.Equal(got.Items, []Row{row}) {
				t.Errorf("%v\n%s", err, cmp.Diff([]Row{row}, got.Items))
			}
		}
	}
}

// TestProgress holds that the progress line is cleared before other output.
func TestProgress(t *testing.T) {
	var out, errs strings.Builder
	p, err := NewPrinter("table", &out, &errs, &errs)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Row(rows[0]), p.Page("pods", 500), p.Page("pods", 612), p.Close()); err != nil {
		t.Fatal(err)
	}
	if want := "pods: 500 objects so far\r\x1b[Kpods: 612 objects so far\r\x1b[K"; errs.String() != want {
		t.Errorf("got %q", errs.String())
	}
}

func TestOneLine(t *testing.T) {
	for value, want := range map[string]string{
		"prod": "prod", "": `""`, "a\tb": `"a\tb"`, "say \"no\"": `"say \"no\""`,
		strings.Repeat("x", 300): strings.Repeat("x", 300),
	} {
		if got := string(oneLine(value)); got != want {
			t.Errorf("%q is shown as %s", value, got)
		}
	}
}

// TestContinuation holds that an expired list continues only with a token from the server's error,
// and that other errors contain no such token.
func TestContinuation(t *testing.T) {
	expired := apierrors.NewResourceExpired("old")
	if got := continuation(expired); got != "" {
		t.Errorf("got %q without a token", got)
	}
	expired.ErrStatus.ListMeta = metav1.ListMeta{Continue: "here"}
	if got := continuation(expired); got != "here" {
		t.Errorf("got %q", got)
	}
	other := apierrors.NewServiceUnavailable("down")
	other.ErrStatus.ListMeta = metav1.ListMeta{Continue: "here"}
	if got := continuation(other) + continuation(errors.New("other")) + continuation(nil); got != "" {
		t.Errorf("got %q", got)
	}
}
