// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/hack/mutants/internal/survivors"
)

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStamp holds that a run with a stamp tries a target until it passes, and then again only after
// something changed that decides its result.
func TestStamp(t *testing.T) {
	root := writeSmall(t)
	list := small["survivors.txt"]
	call := func(args ...string) (out, errs string, err error) {
		t.Helper()
		var a, b bytes.Buffer
		flags := []string{"-root", root, "-survivors", "survivors.txt", "-stamp", "passed", "-grace", "1s", "-least", "70"}
		err = run(t.Context(), smallTargets, append(flags, args...), &a, &b)
		return a.String(), b.String(), err
	}

	out, errs, err := call("-within", "1ns")
	if err != nil || !strings.HasPrefix(out, "PACKAGE") || !strings.Contains(errs, "NOT TRIED, as 1ns were over; `make mutants-all` tries them: low") {
		t.Errorf("without time: %v\n%s\n%s", err, out, errs)
	}
	if out, _, err := call(); err == nil || !strings.HasPrefix(err.Error(), "low: some mutants are neither noticed nor in ") {
		t.Errorf("with survivors that are not listed: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(root, "passed")); !os.IsNotExist(err) {
		t.Errorf("a target that did not pass is in the stamp: %v", err)
	}
	list += "\n# Tests of this test.\nlow/low.go: Sum: > to >=: to > 1000\nlow/low.go: Forgotten: flipped: return true\n"
	write(t, root, "survivors.txt", list)
	if out, errs, err := call(); err != nil || !strings.Contains(out, "15 mutants, 12 noticed") ||
		!strings.Contains(out, "In the list, but the mutant does not exist:\n  low/low.go: Both: flipped: return a || b\n") {
		t.Errorf("with all survivors in the list: %v\n%s\n%s", err, out, errs)
	}

	if _, errs, err := call(); err != nil || !strings.Contains(errs, "1 of 1 targets have not changed since they passed") {
		t.Errorf("again: %v\n%s", err, errs)
	}
	write(t, root, "passed", "no digest")
	if _, _, err := call(); err == nil {
		t.Error("a stamp that can't be read is accepted")
	}
}

// TestDigest holds what makes a target stale: everything that decides its result, but for the
// other packages that it imports.
func TestDigest(t *testing.T) {
	root := writeSmall(t)
	digest := func(text string) string {
		t.Helper()
		list, err := survivors.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := smallTargets[0].digest(root, list)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	list := small["survivors.txt"]
	last := digest(list)
	for _, step := range []struct {
		change, name, text string
		stale              bool
	}{
		{"nothing", "low/low.go", small["low/low.go"], false},
		{"a source", "low/low.go", small["low/low.go"] + "\n", true},
		{"a test", "low/low_test.go", small["low/low_test.go"] + "\n", true},
		{"data of a test", "low/testdata/deep/data.yaml", "a: b\n", true},
		{"a test of a package above", "high/high_test.go", small["high/high_test.go"] + "\n", true},
		{"a source of a package above", "high/high.go", small["high/high.go"] + "\n", false},
		{"a package in a folder below", "low/deep/deep.go", "package deep\n", false},
		{"a text beside it", "low/README", "low\n", false},
	} {
		write(t, root, step.name, step.text)
		now := digest(list)
		if (now != last) != step.stale {
			t.Errorf("%s changed: stale is %v", step.change, now != last)
		}
		last = now
	}
	if digest(list+"high/high.go: F: flipped: return true\n") != last {
		t.Error("a survivor of another package makes the target stale")
	}
	if digest(list+"low/low.go: Down: negated: n > 0\n") == last {
		t.Error("a survivor of the target does not make it stale")
	}
}

// TestStaleByTurns holds that each stale target is the first one for some seed, and that all follow.
func TestStaleByTurns(t *testing.T) {
	root := writeSmall(t)
	targets := []target{{"low", 0, nil}, {"high", 0, nil}}
	for seed, want := range [][]string{{"low", "high"}, {"high", "low"}, {"low", "high"}} {
		stale, err := stamp{}.stale(root, targets, nil, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, each := range stale {
			got = append(got, each.folder)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
	if _, err := (stamp{}).stale(root, []target{{"nowhere", 0, nil}}, nil, 0); err == nil {
		t.Error("a target without a folder has a digest")
	}
}

// TestStampNamesTargets holds that the file of the project names no package that is no target.
func TestStampNamesTargets(t *testing.T) {
	passed, err := readStamp("passed")
	if err != nil {
		t.Fatal(err)
	}
	for folder := range passed {
		if !slices.ContainsFunc(targets, func(t target) bool { return t.folder == folder }) {
			t.Errorf("%s is no target", folder)
		}
	}
}
