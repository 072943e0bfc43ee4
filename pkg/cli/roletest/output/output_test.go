// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/cli/roletest/judge"
)

func hostile(payload string) []*judge.Report {
	return []*judge.Report{
		{File: "a" + payload, Notes: []string{"note" + payload}, Cases: []judge.Result{
			{Name: "one" + payload, Line: 3, Subject: "user:" + payload, Request: "get " + payload, Expect: payload, Outcome: judge.Passed, Answer: payload},
			{Line: 4, Subject: "user:" + payload, Request: "get " + payload, Expect: payload, Outcome: judge.Failed, Answer: payload},
			{Line: 5, Subject: "user:" + payload, Request: "get " + payload, Expect: payload, Outcome: judge.Error, Answer: payload},
		}, Loose: []judge.Loose{{File: "b" + payload, Line: 6, Role: "Role " + payload, Rule: 1, Part: "the verb " + payload}}},
		{File: "c", Cases: []judge.Result{}, Problem: errors.Join(
			&format.Mistake{File: "d" + payload, Line: 7, Field: payload, Message: payload}, errors.New("why"+payload))},
	}
}

// TestPrintHostileNames holds that no name adds a line, an element or a command, and that no character
// is printed that a terminal or an editor would interpret.
//
// Attack: a name in a test of a role has line breaks with a command of GitHub, an element of JUnit, or terminal escapes
// Answer: escaped: no command, element or row is added
func TestPrintHostileNames(t *testing.T) {
	plain := map[string]int{}
	for _, payload := range []string{"x", "\n::error file=x,line=1::y\n", "\r\x1b[2J", "\u202e\u2028", "</testcase><failure>&\"'", "%0A::error::", ",line=9", "\xff\x00", "]]>", "   PASSED   "} {
		for _, name := range Formats {
			var out bytes.Buffer
			if err := Print(&out, name, hostile(payload)); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			for _, r := range text {
				if r != '\n' && !strconv.IsPrint(r) {
					t.Errorf("-o %s: %q in %q", name, r, text)
				}
			}
			lines := strings.Count(text, "\n")
			if want, ok := plain[name]; !ok {
				plain[name] = lines
			} else if lines != want && name != "table" {
				t.Errorf("-o %s with %q: %d lines, wanted %d:\n%s", name, payload, lines, want, text)
			}
			switch name {
			case "table":
				checkWidth(t, text)
			case "json":
				var all struct{ Counts Counts }
				if err := json.Unmarshal(out.Bytes(), &all); err != nil || all.Counts != (Counts{1, 1, 1, 1, 2, 0}) {
					t.Errorf("%v, %+v", err, all)
				}
			case "junit":
				checkJUnit(t, out.Bytes())
			case "github":
				checkGitHub(t, text)
			}
		}
	}
}

// checkWidth holds the width of the rows. Texts below the table are whole.
func checkWidth(t *testing.T, text string) {
	t.Helper()
	for i, line := range strings.Split(text, "\n") {
		if i < 4 && len([]rune(line)) > printing.MaxWidth {
			t.Errorf("line %d has %d columns: %s", i, len([]rune(line)), line)
		}
	}
}

func checkJUnit(t *testing.T, text []byte) {
	t.Helper()
	var all suites
	if err := xml.Unmarshal(text, &all); err != nil || len(all.Suites) != 2 {
		t.Fatalf("%v\n%s", err, text)
	}
	a, b := all.Suites[0], all.Suites[1]
	if a.Tests != 4 || a.Failures != 2 || a.Errors != 1 || len(a.Cases) != 4 || b.Tests != 2 || b.Errors != 2 || a.Cases[0].Failure != nil {
		t.Errorf("%+v", all)
	}
}

func checkGitHub(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 7 {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	if strings.Contains(text, "%0A::error") {
		t.Errorf("GitHub would read a line break in %q", text)
	}
	for i, line := range lines {
		if i == len(lines)-1 {
			if strings.HasPrefix(line, "::") {
				t.Errorf("the last line is a command: %s", line)
			}
			continue
		}
		// In the file and in the title, which has no names, nothing can begin another property.
		rest, ok := strings.CutPrefix(line, "::error ")
		if !ok {
			rest, ok = strings.CutPrefix(line, "::notice ")
		}
		properties, _, found := strings.Cut(rest, "::")
		if count := strings.Count(properties, ","); !ok || !found || count > 2 {
			t.Errorf("line %d: %s", i, line)
		}
	}
}

// TestTableSaysWhy holds that the reason of each case that did not pass is printed whole.
func TestTableSaysWhy(t *testing.T) {
	why := strings.Repeat("a long reason ", 20) + "END"
	var out bytes.Buffer
	err := Print(&out, "table", []*judge.Report{{File: "a.yaml", Cases: []judge.Result{
		{Line: 3, Subject: "user:jane", Request: "get pods shop/web", Expect: "allowed", Outcome: judge.Failed, Answer: why},
		{Line: 7, Subject: "user:jane", Request: "get pods shop/web", Expect: "allowed", Outcome: judge.Passed, Answer: "allowed"},
	}}})
	want := "a.yaml:3: failed: user:jane, get pods shop/web: expected allowed: " + why + "\n1 passed, 1 failed, 0 errors\n"
	if err != nil || !strings.HasSuffix(out.String(), want) {
		t.Errorf("%v\n%s", err, out.String())
	}
}
