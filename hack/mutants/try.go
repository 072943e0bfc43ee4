// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"kube-granular.dev/hack/mutants/internal/measure"
	"kube-granular.dev/hack/mutants/internal/mutate"
	"kube-granular.dev/hack/mutants/internal/survivors"
)

// try makes the mutants of the targets and runs the tests with each that is wanted.
func try(ctx context.Context, o *options, targets []target, list survivors.List, log io.Writer) ([]measure.Result, error) {
	started := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(log, "%4.0f s  %s\n", time.Since(started).Seconds(), fmt.Sprintf(format, args...))
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)

	chosen := []mutate.Mutant{}
	sources := map[string][]byte{}
	last := 0
	for _, t := range targets {
		mutated, err := mutate.Package(o.root, t.folder, last)
		if err != nil {
			return nil, err
		}
		last += len(mutated.Mutants)
		for name, source := range mutated.Sources {
			sources[name] = source
		}
		chosen = append(chosen, o.pick(mutated.Mutants)...)
	}
	overlay, err := measure.Overlay(work, sources)
	if err != nil {
		return nil, err
	}

	binaries := map[string]*measure.Binary{}
	for _, folder := range testedBy(targets, chosen) {
		b, err := measure.Build(ctx, o.root, work, overlay, folder)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		say("built the tests of %s", folder)
		broken, err := b.Profile(ctx, o.workers)
		if err != nil {
			return nil, err
		}
		for _, name := range broken {
			say("left out, fails with no mutant on: %s", name)
		}
		say("ran each test of %s alone", folder)
		binaries[folder] = b
	}

	var results []measure.Result
	survived, said := 0, time.Now()
	err = measure.All(ctx, o.workers, o.grace, chosen, func(folder string) []*measure.Binary {
		var out []*measure.Binary
		for _, name := range order(targets, folder) {
			if b := binaries[name]; b != nil {
				out = append(out, b)
			}
		}
		return out
	}, func(r measure.Result) {
		results = append(results, r)
		if !r.Noticed {
			survived++
			if _, listed := list[r.Key()]; !listed {
				say("not noticed, line %d of %s", r.Line, r.Key())
			}
		}
		if time.Since(said) > 10*time.Second || len(results) == len(chosen) {
			said = time.Now()
			say("%d of %d mutants, %d not noticed", len(results), len(chosen), survived)
		}
	})
	return results, err
}

// pick returns the mutants of a package that are to be tried.
func (o *options) pick(mutants []mutate.Mutant) []mutate.Mutant {
	out := slices.DeleteFunc(slices.Clone(mutants), func(m mutate.Mutant) bool {
		return !strings.Contains(m.Key(), o.match) ||
			o.again != nil && !slices.ContainsFunc(o.again, func(line string) bool { return strings.HasSuffix(line, m.Key()) })
	})
	if o.sample == 0 || len(out) <= o.sample {
		return out
	}
	random := rand.New(rand.NewPCG(o.seed, uint64(len(out))))
	random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:o.sample]
}

// order returns the packages whose tests may notice mutants of one.
func order(targets []target, folder string) []string {
	i := slices.IndexFunc(targets, func(t target) bool { return t.folder == folder })
	return append([]string{folder}, targets[i].above...)
}

// testedBy returns the packages whose tests are needed, each once.
func testedBy(targets []target, mutants []mutate.Mutant) []string {
	var out []string
	for _, t := range targets {
		if !slices.ContainsFunc(mutants, func(m mutate.Mutant) bool { return m.Package == t.folder }) {
			continue
		}
		for _, folder := range order(targets, t.folder) {
			if !slices.Contains(out, folder) {
				out = append(out, folder)
			}
		}
	}
	return out
}
