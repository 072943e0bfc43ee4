// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"kube-granular.dev/test/integration/cluster"
)

// report is the part of the output that is compared.
type report struct {
	File  string
	Cases []struct{ Name, Outcome, Answer string }
	Notes []string
	Loose []struct {
		File, Role, Part string
		Line, Rule       int
	}
	Problems []struct {
		File, Message string
		Line          int
	}
}

// lines returns what a report says, a line each. Files are named without their folder.
func (r *report) lines() []string {
	var out []string
	for _, c := range r.Cases {
		out = append(out, fmt.Sprintf("%s: %s: %s", c.Name, c.Outcome, c.Answer))
	}
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s:%d: %s", filepath.Base(p.File), p.Line, p.Message))
	}
	for _, l := range r.Loose {
		out = append(out, fmt.Sprintf("%s:%d: %s rule %d %s", filepath.Base(l.File), l.Line, l.Role, l.Rule, l.Part))
	}
	for _, note := range r.Notes {
		out = append(out, "note: "+note)
	}
	return out
}

// command returns the command, with a home and a kubeconfig that it must not use.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "kube-granular"), append([]string{"test"}, args...)...)
	home := t.TempDir()
	config := filepath.Join(home, "config")
	if err := os.WriteFile(config, []byte("not a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "HOME="+home, "KUBECONFIG="+config, "TMPDIR="+t.TempDir())
	return cmd
}

// judge runs tests and returns their reports and the exit code.
func judge(t *testing.T, args ...string) ([]report, int) {
	t.Helper()
	cmd := command(t, append([]string{"-o", "json"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var all struct{ Tests []report }
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	if strings.Contains(out.String()+errs.String(), "s3cr3t") {
		t.Errorf("a value is printed:\n%s%s", out.String(), errs.String())
	}
	return all.Tests, cmd.ProcessState.ExitCode()
}

// unpack writes an archive and returns its tests, and the lines of its file want.
func unpack(t *testing.T, archive string) (files, want []string) {
	t.Helper()
	parsed, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range parsed.Files {
		if f.Name == "want" {
			want = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
			continue
		}
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(f.Name, ".test.yaml") {
			files = append(files, path)
		}
	}
	return files, want
}

// compare reports the lines that are missing, and those that are too many. A wanted line is the beginning
// of a line.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d lines, wanted %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for _, line := range want {
		if !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, line) }) {
			t.Errorf("%q is not in:\n%s", line, strings.Join(got, "\n"))
		}
	}
}

// TestRules judges all archives of testdata on one server. Their names begin with the number of the rule
// of the design that they hold.
//
// Attack: a test of a role that is green for the wrong reason: no such object, a misspelled field, subject, role or
// delegation, an invalid value, a refusal of admission, a request that changes nothing, a role that is not applied
// Answer: an error of the test, exit code 2
func TestRules(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	var files []string
	type expected struct{ files, want []string }
	all := map[string]expected{}
	for _, archive := range archives {
		if strings.HasPrefix(filepath.Base(archive), "07-") {
			continue // TestTight
		}
		e := expected{}
		e.files, e.want = unpack(t, archive)
		all[strings.TrimSuffix(filepath.Base(archive), ".txtar")] = e
		files = append(files, e.files...)
	}
	reports, code := judge(t, files...)
	if code != 2 {
		t.Errorf("the exit code is %d, although some tests are not valid", code)
	}
	for name, e := range all {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i := range reports {
				if slices.Contains(e.files, reports[i].File) {
					got = append(got, reports[i].lines()...)
				}
			}
			compare(t, got, e.want)
		})
	}
}

// TestTight holds that --tight finds each part of a role that no case needs, and nothing else, and that it
// leaves the roles as they were for the next test.
func TestTight(t *testing.T) {
	files, want := unpack(t, filepath.Join("testdata", "07-tight.txtar"))
	for _, args := range [][]string{files, append(files, files...)} {
		reports, code := judge(t, append([]string{"--tight"}, args...)...)
		if code != 1 || len(reports) != len(args) {
			t.Errorf("exit code %d, %d reports", code, len(reports))
		}
		for i := range reports {
			compare(t, reports[i].lines(), want)
		}
	}
}
