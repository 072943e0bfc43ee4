// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"kube-granular.dev/hack/mutants/internal/measure"
	"kube-granular.dev/hack/mutants/internal/survivors"
)

// tryStale tries, one target after the other, the mutants of the targets that changed since the
// stamp. After each target that passes it writes the stamp. When the time is over it ends, names
// what it did not try, and reports what it found until then.
func tryStale(ctx context.Context, o *options, targets []target, list survivors.List, out, errs io.Writer) error {
	file := filepath.Join(o.root, o.stamp)
	passed, err := readStamp(file)
	if err != nil {
		return err
	}
	stale, err := passed.stale(o.root, targets, list, o.seed)
	if err != nil {
		return err
	}
	limited, stop := ctx, context.CancelFunc(func() {})
	if o.within > 0 {
		limited, stop = context.WithTimeout(ctx, o.within)
	}
	defer stop()
	var all []measure.Result
	var found survivors.Difference
	var wrong, left []string
	for _, t := range stale {
		if limited.Err() != nil {
			left = append(left, t.folder)
			continue
		}
		digest, err := t.digest(o.root, list)
		if err != nil {
			return err
		}
		fmt.Fprintf(errs, "==> %s\n", t.folder)
		results, err := try(limited, o, []target{t}, list, errs)
		if err != nil && (ctx.Err() != nil || limited.Err() == nil) {
			return err
		}
		finished := err == nil
		if !finished {
			left = append(left, fmt.Sprintf("%s (but for %d mutants)", t.folder, len(results)))
		}
		slices.SortFunc(results, func(a, b measure.Result) int { return a.ID - b.ID })
		all = append(all, results...)
		here := list.In(t.folder).Compare(results, finished)
		found.Add(here)
		if err := o.judge(summarize(results, here), finished); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", t.folder, err))
		} else if finished {
			// Another run can have written the file meanwhile.
			if passed, err = readStamp(file); err != nil {
				return err
			}
			passed[t.folder] = digest
			if err := passed.write(file); err != nil {
				return err
			}
		}
	}
	s := summarize(all, found)
	if err := s.print(o.output, out); err != nil {
		return err
	}
	fmt.Fprintf(errs, "%d of %d targets have not changed since they passed\n", len(targets)-len(stale), len(targets))
	if len(left) > 0 {
		fmt.Fprintf(errs, "NOT TRIED, as %v were over; `make mutants-all` tries them: %s\n", o.within, strings.Join(left, ", "))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	return nil
}
