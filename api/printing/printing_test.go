// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package printing_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"kube-granular.dev/api/printing"
)

// binding is what a name must not add to the output: a document of its own.
const binding = "x\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: root}\n"

// hostile are texts that would be more than text if they were printed as they are.
var hostile = []string{
	binding, "a\tb", "a\r\nyes", "\x1b]0;title\x07", "\x1b[2J", "a\u202eb", "a\u2066b", "\u200b", "\u0085", "\u2028", "\u009b31m",
	"\x7f", "\xff\xfe", "\ufeff", "a\u00a0b", "\U000e0041", "back\\slash\n", "a\x00b", "quo\"te\n", "# a\n", "'a", "a: b", "- a", "=1+1", "  a", "a   yes", `"a"`,
	"", "NAME", "Jörg", "日本", "1", "true", "null", "~", "@x", "-1", "%s%d", strings.Repeat("k\n", 900), strings.Repeat("long words ", 40) + "\u202e",
}

// checkLine fails the test if text is more than one line of printable characters.
func checkLine(t *testing.T, what, text string) {
	t.Helper()
	line, more := strings.CutSuffix(text, "\n")
	if !more {
		t.Errorf("%s: %q does not end", what, text)
	}
	for _, r := range line {
		if !strconv.IsPrint(r) {
			t.Errorf("%s: %q is not printable: %q", what, r, text)
			return
		}
	}
}

// TestOneLine holds that each text is printed on one line by printable characters, in each place of
// a line.
func TestOneLine(t *testing.T) {
	for _, text := range hostile {
		for what, print := range map[string]func(io.Writer) error{
			"%s":        func(w io.Writer) error { return printing.Fprintf(w, "a %s b\n", text) },
			"%q":        func(w io.Writer) error { return printing.Fprintf(w, "a %q b\n", text) },
			"%v":        func(w io.Writer) error { return printing.Fprintf(w, "a %v b\n", []string{text, text}) },
			"%-20s":     func(w io.Writer) error { return printing.Fprintf(w, "a %-20s b\n", text) },
			"an error":  func(w io.Writer) error { return printing.Error(w, errors.New(text)) },
			"a wrapped": func(w io.Writer) error { return printing.Error(w, fmt.Errorf("%w: %w", errors.New(text), io.EOF)) },
			"a comment": func(w io.Writer) error { return printing.Comment(w, text) },
			"a cell":    func(w io.Writer) error { return noHeader(w, "a", text) },
			"a wide":    func(w io.Writer) error { return wideRow(w, "a", text) },
			"CSV":       func(w io.Writer) error { return printing.CSV(w, [][]any{{text, "x"}}) },
		} {
			var out bytes.Buffer
			if err := print(&out); err != nil {
				t.Fatal(err)
			}
			checkLine(t, what, out.String())
		}
	}
}

// TestReadable holds that normal text is printed as it is.
func TestReadable(t *testing.T) {
	for _, text := range []string{"NAME", "Jörg", "日本", `back\slash`, `say "no"`, "system:serviceaccount:a:b", "1", "a b"} {
		if got := printing.Escape(text); got != text {
			t.Errorf("%s is printed as %s", text, got)
		}
		if got := printing.Cell(text); got != text {
			t.Errorf("the cell of %s is %s", text, got)
		}
	}
	var out bytes.Buffer
	err := errors.Join(
		printing.Fprintf(&out, "%s has %d of %5.1f, %t, %s%%\n", "jane", 3, 2.5, true, printing.Escaped("two\nlines")),
		printing.Error(&out, errors.Join(errors.New("one"), errors.New("two"))),
		printing.Comment(&out, "why"), printing.CSV(&out, [][]any{{"=a", printing.Number("-1"), "-1", true}}))
	if want := "jane has 3 of   2.5, true, two\nlines%\nerror: one\nerror: two\n# why\n'=a,-1,'-1,true\n"; err != nil || out.String() != want {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// TestCellsDiffer holds that two texts never have the same cell.
func TestCellsDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, text := range hostile {
		for _, text := range []string{text, printing.Cell(text), printing.Escape(text), strconv.Quote(text)} {
			if other, known := seen[printing.Cell(text)]; known && other != text {
				t.Errorf("%q and %q are both printed as %s", text, other, printing.Cell(text))
			}
			seen[printing.Cell(text)] = text
		}
	}
}

// TestDocuments holds that JSON, YAML and CSV have the values that were meant, as printable text,
// and no document more.
func TestDocuments(t *testing.T) {
	for _, text := range hostile {
		valid := strings.ToValidUTF8(text, "\ufffd")
		if text != valid {
			valid = "\ufffd\ufffd" // encoding/json replaces each byte
		}
		meant := map[string]any{
			"kind": "Role", text: "key", "name": text, "list": []any{text, map[string]any{"a": text}, []any{}, nil}, "n": float64(3), "empty": map[string]any{}, "b": true,
		}
		want := map[string]any{
			"kind": "Role", valid: "key", "name": valid, "list": []any{valid, map[string]any{"a": valid}, []any{}, nil}, "n": float64(3), "empty": map[string]any{}, "b": true,
		}
		var asJSON, asYAML bytes.Buffer
		if err := errors.Join(printing.JSON(&asJSON, meant), printing.YAML(&asYAML, meant, meant)); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.SplitAfter(strings.TrimSuffix(asJSON.String()+asYAML.String(), "\n"), "\n") {
			checkLine(t, "a document", strings.TrimSuffix(line, "\n")+"\n")
		}
		got := map[string]any{}
		if err := json.Unmarshal(asJSON.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("JSON of %q: %v\n%s", text, err, asJSON.String())
		}
		documents := yaml.NewYAMLOrJSONDecoder(&asYAML, 4096)
		text := asYAML.String()
		for i := range 3 {
			got := map[string]any{}
			err := documents.Decode(&got)
			if i == 2 && !errors.Is(err, io.EOF) || i < 2 && (err != nil || !reflect.DeepEqual(got, want)) {
				t.Errorf("document %d of YAML: %v, %q\n%s", i, err, got, text)
			}
		}
		var sheet bytes.Buffer
		if err := printing.CSV(&sheet, [][]any{{text, "x"}}); err != nil {
			t.Fatal(err)
		}
		if rows, err := csv.NewReader(&sheet).ReadAll(); err != nil || len(rows) != 1 || len(rows[0]) != 2 || rows[0][1] != "x" {
			t.Errorf("CSV of %q: %q, %v", text, rows, err)
		}
	}
	if _, err := printing.MarshalYAML(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
