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

// try adds the mutants to the sources of the targets, and runs the tests with each selected mutant.
// If it returns an error, the results are those until then.
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
		chosen = append(chosen, o.pick(mutated.Mutants, list)...)
	}
	overlay, err := measure.Overlay(work, sources)
	if err != nil {
		return nil, err
	}

	var results []measure.Result
	reached, said := map[int]bool{}, time.Now()
	// In the first round, each mutant meets the tests of its own package, which notice most
	// mutants. In later rounds, the remaining mutants meet the tests of packages that use their
	// package. These packages take long to build. With -by there is only the first of the later rounds.
	round := 0
	if o.by != "" {
		round = 1
	}
	for left := chosen; len(left) > 0; round++ {
		binaries := map[string]*measure.Binary{}
		for _, folder := range packagesInRound(round, targets, left) {
			b, err := measure.Build(ctx, o.root, work, overlay, folder)
			if err != nil {
				return results, err
			}
			if b == nil {
				continue
			}
			say("built the tests of %s", folder)
			broken, err := b.Profile(ctx, o.workers, min(o.longest, longestTest(round, targets, folder)))
			if err != nil {
				return results, err
			}
			for _, name := range broken {
				say("left out, because it fails without any mutant: %s", name)
			}
			say("ran each test of %s alone", folder)
			binaries[folder] = b
		}
		var survived []mutate.Mutant
		err := measure.RunAll(ctx, o.workers, o.grace, left, func(m *mutate.Mutant) *measure.Binary {
			return binaries[packageInRound(round, targets, m.Package)]
		}, func(r measure.Result) {
			r.Reached = r.Reached || reached[r.ID]
			reached[r.ID] = r.Reached
			switch last := packageInRound(round+1, targets, r.Package) == ""; {
			case !r.Noticed && !last:
				survived = append(survived, r.Mutant)
				return
			case !r.Noticed:
				if _, listed := list[r.Key()]; !listed {
					say("not noticed, line %d of %s", r.Line, r.Key())
				}
			}
			results = append(results, r)
			if time.Since(said) > 10*time.Second || len(results) == len(chosen) {
				said = time.Now()
				say("%d of %d mutants are done", len(results), len(chosen))
			}
		})
		if err != nil {
			return results, err
		}
		left = survived
	}
	return results, nil
}

// pick returns those mutants of a package that the options select. A random sample contains no
// mutants of the list of survivors, because their result is known. If time is limited the order is
// random, so that each mutant is tried in some run.
func (o *options) pick(mutants []mutate.Mutant, list survivors.List) []mutate.Mutant {
	out := slices.DeleteFunc(slices.Clone(mutants), func(m mutate.Mutant) bool {
		_, listed := list[m.Key()]
		return o.sample > 0 && listed || !strings.Contains(m.Key(), o.match)
	})
	few := o.sample > 0 && o.sample < len(out)
	if few || o.within > 0 {
		random := rand.New(rand.NewPCG(o.seed, uint64(len(out))))
		random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if few {
		return out[:o.sample]
	}
	return out
}

// longestTest returns the limit of CPU time for the tests of a package. Only in round 0 may the
// package be a target that has a limit.
func longestTest(round int, targets []target, folder string) time.Duration {
	for _, t := range targets {
		if round == 0 && t.folder == folder && t.longest > 0 {
			return t.longest
		}
	}
	return measure.MaxTestTime
}

// packageInRound returns the package whose tests run in a round for the mutants of the target in
// the given folder. Round 0 is the target itself. Round n is the nth package in the field above of
// the target. After the last of these packages, packageInRound returns "".
func packageInRound(round int, targets []target, folder string) string {
	if round == 0 {
		return folder
	}
	i := slices.IndexFunc(targets, func(t target) bool { return t.folder == folder })
	if above := targets[i].above; round <= len(above) {
		return above[round-1]
	}
	return ""
}

// packagesInRound returns the packages whose tests run in a round, without duplicates.
func packagesInRound(round int, targets []target, mutants []mutate.Mutant) []string {
	var out []string
	for _, m := range mutants {
		if folder := packageInRound(round, targets, m.Package); !slices.Contains(out, folder) {
			out = append(out, folder)
		}
	}
	return out
}
