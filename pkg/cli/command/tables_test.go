// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kube-granular.dev/api/printing"
)

// shortenedLine is the last line of a page with shortened cells.
const shortenedLine = "Texts with … are shortened; -o wide shows them whole.\n"

// headerPattern matches the header of a table: at least two names of columns.
var headerPattern = regexp.MustCompile(`^[A-Z][A-Z *-]*[A-Z*](   +[^ ]|$)`)

// afterTable are the beginnings of lines of text that follow a table without an empty line.
var afterTable = []string{"The server ", "No dry run was possible", "Note on ", "THROUGH "}

// tablesIn returns the lines of tables in the output of a command.
func tablesIn(text string) []string {
	var out []string
	inside := false
	for _, line := range strings.Split(text, "\n") {
		begun := headerPattern.MatchString(line) && strings.Contains(line, "   ")
		inside = (inside || begun) && line != "" && !slices.ContainsFunc(afterTable, func(s string) bool { return strings.HasPrefix(line, s) })
		if inside {
			out = append(out, line)
		}
	}
	return out
}

// withoutTable are the commands that print no table.
var withoutTable = []string{"explain-denial", "lint", "mark", "ui", "export", "field-permission"}

// TestTablesFit runs every command against a cluster and a log with long names, keys, verbs and
// reasons. No line of a table is wider than a table may be. The last line says that texts are
// shortened, and -o wide has them whole. A new command must be listed here or as one without a table.
func TestTablesFit(t *testing.T) {
	const long = "-a-name-that-is-much-longer-than-any-column-of-a-table-can-be-because-somebody-wants-to-hide-the-end-of-it-from-the-reader"
	cluster := hostileCluster{func(s string) string { return s + long + "\u202e" }}
	cases := map[string][]string{
		"explain":                {"explain", "things"},
		"verbs":                  {"verbs"},
		"can-i":                  {"can-i", "things/a", "-p", `{"spec":{"replicas":2}}`},
		"can-i --list":           {"can-i", "things/a", "--list"},
		"can-i --list --all":     {"can-i", "things/a", "--list", "--all"},
		"can-i readmetadata":     {"can-i", "readmetadata", "things/a"},
		"who-can":                {"who-can", "granular:replicas", "things"},
		"role":                   {"role", "things/a", "-p", `{"spec":{"replicas":2}}`, "--subject", "user:jane" + long},
		"role --from-audit":      {"role", "--from-audit", "DIR/audit.log"},
		"check":                  {"check", "-f", "DIR/lint.yaml", "--audit-log", "DIR/audit.log"},
		"report":                 {"report", "DIR/audit.log", "--all"},
		"matrix":                 {"matrix"},
		"matrix of a resource":   {"matrix", "--resource", "things"},
		"matrix of one":          {"matrix", "--subject", "user:jane" + long},
		"matrix of one resource": {"matrix", "--subject", "user:user" + long + "\u202e", "--resource", "things"},
		"stored":                 {"stored", "things.example.com"},
		"lend":                   {"lend", "--list"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			run := func(format string) string {
				out, errs, err := cluster.run(t, "", append(slices.Clone(args), "-o", format)...)
				if err != nil && !errors.Is(err, ErrNo) {
					t.Fatal(err, errs)
				}
				return out
			}
			out, wide := run("table"), run("wide")
			lines := tablesIn(out)
			if len(lines) < 2 {
				t.Fatalf("no table in\n%s", out)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(line); n > printing.MaxWidth {
					t.Errorf("%d characters in %q", n, line)
				}
			}
			if shortened := slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "…") && !strings.Contains(line, "└─ …") }); shortened != strings.HasSuffix(out, shortenedLine) {
				t.Errorf("the last line is wrong in\n%s", out)
			}
			if strings.Contains(wide, "…") && !strings.Contains(wide, "└─ …") {
				t.Errorf("-o wide shortens:\n%s", wide)
			}
		})
	}
	for _, c := range New(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		if name := c.Name(); cases[name] == nil != slices.Contains(withoutTable, name) && name != "help" && name != "completion" {
			t.Errorf("the command %s has no table in this test, and is not listed as one without", name)
		}
	}
}
