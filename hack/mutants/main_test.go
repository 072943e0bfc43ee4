// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// small is a module, by file, with two packages: low, whose tests notice some of its mutants, and
// high, which uses low and whose tests notice some of the others.
var small = map[string]string{
	"go.mod": "module example.com/small\n\ngo 1.26\n",
	"low/low.go": `package low

import "errors"

func Positive(n int) bool { return n > 0 }

func Sum(to int) (sum int, err error) {
	if to > 1000 {
		return 0, errors.New("too many")
	}
	for i := 0; i < to; i++ {
		sum += i
	}
	return sum, nil
}

func Both(a, b bool) bool { return a && b }

func Down(n int) int {
	for n > 0 {
		n--
	}
	return n
}

func Forgotten() bool { return true }
`,
	"low/low_test.go": `package low

import "testing"

func TestPositive(t *testing.T) {
	if !Positive(1) || Positive(-1) {
		t.Error("wrong")
	}
}

func TestSum(t *testing.T) {
	if sum, err := Sum(4); sum != 6 || err != nil {
		t.Error(sum, err)
	}
	if _, err := Sum(1001); err == nil {
		t.Error("no error")
	}
}

func TestDown(t *testing.T) {
	if Down(3) != 0 {
		t.Error("wrong")
	}
}

func TestBroken(t *testing.T) { t.Error("fails without a mutant too") }
`,
	"high/high_test.go": `package high

import (
	"testing"

	"example.com/small/low"
)

func TestBoth(t *testing.T) {
	if !low.Both(true, true) || low.Both(true, false) {
		t.Error("wrong")
	}
}
`,
	"high/high.go": "package high\n",
	"survivors.txt": `# Nobody uses zero.
low/low.go: Positive: > to >=: n > 0

# It was so once.
low/low.go: Both: flipped: return a && b
low/low.go: Both: flipped: return a || b
`,
}

var smallTargets = []target{{"low", 0, []string{"high"}}}

// writeSmall writes the module small into a folder.
func writeSmall(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root := t.TempDir()
	for name, text := range small {
		write(t, root, name, text)
	}
	return root
}

// TestSmall runs the command for the module small and holds its results. A mutant of < counts as
// reached only if a test compares equal values.
func TestSmall(t *testing.T) {
	root := writeSmall(t)
	call := func(args ...string) (out, errs string, err error) {
		var a, b bytes.Buffer
		err = run(t.Context(), smallTargets, append([]string{"-root", root, "-survivors", "survivors.txt", "-grace", "1s"}, args...), &a, &b)
		return a.String(), b.String(), err
	}

	out, errs, err := call()
	if err == nil || err.Error() != "some mutants are neither noticed nor in survivors.txt; fewer than 95 % of the mutants of low are noticed" {
		t.Errorf("%v\n%s", err, errs)
	}
	for _, line := range []string{
		"PACKAGE  MUTANTS  REACHED  NOTICED          TIMED OUT  LISTED\n",
		"low      15       12       12       80.0 %  1          1\n",
		"Survived, and are not in the list:\n  low/low.go:8 (no test reaches it)\n    low/low.go: Sum: > to >=: to > 1000\n  low/low.go:26 (no test reaches it)\n    low/low.go: Forgotten: flipped: return true\n",
		"In the list, but noticed:\n  low/low.go:17\n    low/low.go: Both: flipped: return a && b\n",
		"In the list, but the mutant does not exist:\n  low/low.go: Both: flipped: return a || b\n",
		"15 mutants, 12 noticed (80.0 %), 1 listed, 2 new\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("lacks %q:\n%s", line, out)
		}
	}
	if !strings.Contains(errs, "left out, because it fails without any mutant: low TestBroken\n") || !strings.Contains(errs, "not noticed, line 26 of low/low.go: Forgotten: flipped: return true\n") || !strings.Contains(errs, "15 of 15 mutants are done\n") {
		t.Errorf("progress is\n%s", errs)
	}

	out, _, err = call("-o", "json", "-match", "Both")
	var got struct {
		All     count
		Mutants []struct{ By string }
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got.All.Mutants != 2 || got.All.Noticed != 2 || got.Mutants[0].By != "high" {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, _ = call("-own", "-match", "Both"); !strings.HasSuffix(out, "\n2 mutants, 0 noticed (0.0 %), 1 listed, 1 new\n") {
		t.Errorf("by its own tests\n%s", out)
	}
	if out, _, _ = call("-by", "high", "-match", "Both"); !strings.HasSuffix(out, "\n2 mutants, 2 noticed (100.0 %), 0 listed, 0 new\n") {
		t.Errorf("by the tests of another package\n%s", out)
	}
	first, _, _ := call("-n", "3")
	if again, _, _ := call("-n", "3"); again != first || !strings.Contains(first, "3 mutants, ") {
		t.Errorf("a sample is\n%s\nand then\n%s", first, again)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-o", "yaml"}, {"-root", "testdata/none", "nowhere"}, {"-nonsense"}, {"-within", "1s"},
		{"-stamp", "passed", "-own"}, {"-stamp", "passed", "-by", "high"}, {"-stamp", "passed", "-n", "3"},
		{"-stamp", "passed", "-match", "Both"},
	} {
		if err := run(t.Context(), smallTargets, args, io.Discard, io.Discard); err == nil {
			t.Errorf("accepted %q", args)
		}
	}
}

// TestTargets holds that each target, and each package whose tests run for the target, has tests.
func TestTargets(t *testing.T) {
	for _, target := range targets {
		for _, folder := range append(target.above, target.folder) {
			if found, _ := filepath.Glob(filepath.Join("..", "..", folder, "*_test.go")); len(found) == 0 {
				t.Errorf("%s has no tests", folder)
			}
		}
	}
	if chosen, err := choose(targets, []string{"change"}); err != nil || len(chosen) != 1 || chosen[0].folder != library+"change" {
		t.Errorf("%v, %v", chosen, err)
	}
}
