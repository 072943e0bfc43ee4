// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kube-granular.dev/hack/mutants/internal/mutate"
)

// test has the measurements of one test that ran without a mutant.
type test struct {
	name string
	// took is the CPU time of the test, without the start-up of the binary. reaches has the IDs of
	// the mutants that the test reaches.
	took    time.Duration
	reaches map[int]bool
}

// MaxTestTime is the maximum CPU time of one test that runs without a mutant.
const MaxTestTime = 5 * time.Minute

// Profile runs each test of a binary alone, without a mutant. It stores in b how much CPU time
// each test needs and which mutants it reaches. It returns the names of the tests that fail
// without a mutant: no mutant runs with these tests. Tests that need more CPU time than longest
// are left out too.
func (b *Binary) Profile(ctx context.Context, workers int, longest time.Duration) (broken []string, err error) {
	list, took, err := b.command(ctx, MaxTestTime, nil, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", b.Package, err)
	}
	b.startUp = took
	names := strings.Fields(list)
	found := make([]test, len(names))
	failed, slow := make([]bool, len(names)), make([]bool, len(names))
	err = parallel(ctx, workers, len(names), func(i int) error {
		t, err := b.profileTest(ctx, names[i], longest)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			failed[i] = true
			return nil
		}
		if errors.Is(err, timedOut) && longest < MaxTestTime {
			slow[i] = true
			return nil
		}
		found[i] = t
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the tests of %s: %w", b.Package, err)
	}
	for i, name := range names {
		if failed[i] {
			broken = append(broken, b.Package+" "+name)
			continue
		}
		if !slow[i] {
			b.tests = append(b.tests, found[i])
		}
	}
	return broken, nil
}

func (b *Binary) profileTest(ctx context.Context, name string, longest time.Duration) (test, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return test{}, err
	}
	defer os.RemoveAll(dir)
	reached := filepath.Join(dir, "reached")
	took, err := b.run(ctx, b.startUp+longest, []string{name}, mutate.EnvReached+"="+reached)
	if err != nil {
		return test{}, err
	}
	t := test{name: name, took: max(0, took-b.startUp), reaches: map[int]bool{}}
	data, err := os.ReadFile(reached)
	if err != nil && !os.IsNotExist(err) {
		return test{}, err
	}
	for _, line := range strings.Fields(string(data)) {
		id, err := strconv.Atoi(line)
		if err != nil {
			return test{}, err
		}
		t.reaches[id] = true
	}
	return t, nil
}
