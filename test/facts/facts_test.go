// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/gate/redact"
)

// longestVerb is the length of the longest verb that is possible: "granular", a colon, a
// domain, a permission name, and a parameter in parentheses.
const longestVerb = len(permission.General) + 1 +
	permission.MaxDomainLength + 1 + permission.MaxNameLength +
	1 + permission.MaxParameterLength + 1

// TestNumbers checks that the limits in the documentation are the limits in the code.
func TestNumbers(t *testing.T) {
	for _, fact := range []struct {
		document, says string
		is             int
	}{
		{"threat-model.md", "at most %s permission verbs", decide.DefaultBudget},
		{"threat-model.md", "of at most %s bytes each", longestVerb},
		{"threat-model.md", "may cost %s units of work", decide.MaxCost},
		{"threat-model.md", "A refusal has at most %s bytes", redact.MaxRefusal},
		{"authorizers.md", "A request asks at most %s permission verbs", decide.DefaultBudget},
		{"protected-attributes.md", "at most %s protected labels and annotations may change", change.MaxEmbedded},
		{"protected-attributes.md", "at most %s levels deep", change.MaxEmbeddedDepth},
		{"operations.md", "A parameter has at most %s bytes", permission.MaxParameterLength},
		{"operations.md", "is longer than the %s bytes that a verb may have", permission.MaxParameterLength},
		{"operations.md", "An annotation with verbs has at most %s bytes", audit.MaxLength},
		{"operations.md", "at most %s verbs, and one look", decide.DefaultBudget},
		{"operations.md", "One request adds at most %s, the bound on verbs", decide.DefaultBudget},
		{"operations.md", "names longer than %s bytes are cut", redact.Usual.Name},
		{"operations.md", "is limited to %s units of work", decide.MaxCost},
	} {
		if want := fmt.Sprintf(fact.says, thousands(fact.is)); !strings.Contains(strings.Join(strings.Fields(read(t, "docs", fact.document)), " "), want) {
			t.Errorf("docs/%s does not say %q", fact.document, want)
		}
	}
}

// TestMessages checks that the messages and metrics that operations.md explains exist in the code.
func TestMessages(t *testing.T) {
	operations := read(t, "docs", "operations.md")
	code := source(t)
	for _, section := range []struct {
		name string
		// what returns the literal parts that a line of the section's table consists of.
		what func(string) []string
	}{
		{"At 3 a.m.", messages},
		{"Metrics, traces and log", metric},
	} {
		_, text, ok := strings.Cut(operations, "## "+section.name+"\n")
		if !ok {
			t.Fatalf("operations.md has no section %q", section.name)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		found := 0
		for line := range strings.SplitSeq(text, "\n") {
			cell := regexp.MustCompile("^\\|[^`|]*`([^`]+)`[^|]*\\|").FindStringSubmatch(line)
			if cell == nil || strings.Contains(line, "upstream's own") {
				continue
			}
			for _, part := range section.what(cell[1]) {
				found++
				if !strings.Contains(code, part) {
					t.Errorf("operations.md explains %q: no code of ours says %q", cell[1], part)
				}
			}
		}
		if found < 5 {
			t.Errorf("the table of %q has %d lines that were understood", section.name, found)
		}
	}
}

// placeholders matches the parts of a documented message that the server fills in.
var placeholders = regexp.MustCompile(`"…"|…|\.x|"granular"|\d+`)

// messages returns the parts of a documented message that are the same in each occurrence.
func messages(text string) []string {
	var out []string
	for _, part := range placeholders.Split(text, -1) {
		// Very short parts occur in any text, so they prove nothing.
		if part = strings.Trim(part, " :"); len(part) > 8 {
			out = append(out, part)
		}
	}
	return out
}

func metric(text string) []string {
	name, _, _ := strings.Cut(text, "{")
	return []string{`Name: "` + name + `"`}
}

// source returns the text of the Go files and patches below pkg, staging and patches, without tests.
func source(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, folder := range []string{"pkg", "staging", "patches"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(file, "_test.go") || filepath.Ext(file) != ".go" && filepath.Ext(file) != ".patch" {
				return err
			}
			data, err := os.ReadFile(file)
			b.Write(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// root is the project's folder.
const root = "../.."

// read returns the content of a file of the project.
func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// thousands formats a number with commas, as in 1,024.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestNamedTests checks that the tests and scripts that docs/production-readiness.md and
// docs/comparison.md name exist.
func TestNamedTests(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, dir := range []string{"test", "pkg", "staging", "speed", "tenancy"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			for _, m := range declared.FindAllSubmatch(data, -1) {
				there[string(m[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(read(t, "docs", "production-readiness.md"), -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range regexp.MustCompile("`(compare_\\w+)`").FindAllStringSubmatch(read(t, "docs", "comparison.md"), -1) {
		if _, err := os.Stat(filepath.Join(root, "test/integration/testdata/script", m[1]+".txtar")); err != nil {
			t.Errorf("docs/comparison.md names a script: %v", err)
		}
	}
	for _, m := range named {
		if !there[m[1]] {
			t.Errorf("docs/production-readiness.md names %s, which is not there", m[1])
		}
	}
}
