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

// test is what is known of one test with no mutant on.
type test struct {
	name string
	// took is its time without that of the start.
	took    time.Duration
	reaches map[int]bool
}

// patience is how long one test may take with no mutant on.
const patience = 5 * time.Minute

// Profile runs each test of a binary alone. It returns the names of those that fail;
// they say nothing of mutants.
func (b *Binary) Profile(ctx context.Context, workers int) (broken []string, err error) {
	start := time.Now()
	list, err := b.command(ctx, patience, nil, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return nil, fmt.Errorf("listing the tests of %s: %w", b.Package, err)
	}
	b.startUp = time.Since(start)
	names := strings.Fields(list)
	found := make([]test, len(names))
	failed := make([]bool, len(names))
	err = each(ctx, workers, len(names), func(i int) error {
		t, err := b.alone(ctx, names[i])
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			failed[i] = true
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
		b.tests = append(b.tests, found[i])
	}
	return broken, nil
}

func (b *Binary) alone(ctx context.Context, name string) (test, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return test{}, err
	}
	defer os.RemoveAll(dir)
	reached := filepath.Join(dir, "reached")
	start := time.Now()
	if err := b.run(ctx, patience, []string{name}, mutate.EnvReached+"="+reached); err != nil {
		return test{}, err
	}
	t := test{name: name, took: max(0, time.Since(start)-b.startUp), reaches: map[int]bool{}}
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
