// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kube-granular.dev/hack/mutants/internal/measure"
	"kube-granular.dev/hack/mutants/internal/survivors"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, targets, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

// options are the command-line options.
type options struct {
	root, list, output string
	stamp, match, by   string
	own                bool
	packages           []string
	sample, workers    int
	seed               uint64
	least              float64
	grace, longest     time.Duration
	within             time.Duration
}

func parse(args []string, errs io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&o.root, "root", ".", "the folder of the project")
	flags.StringVar(&o.list, "survivors", filepath.Join("hack", "mutants", "survivors.txt"),
		"the list of mutants that need not be noticed, below root")
	flags.StringVar(&o.output, "o", "table", "how to show the results: table, or json for every mutant")
	flags.StringVar(&o.match, "match", "", "only mutants whose file, function or text contains this text")
	flags.StringVar(&o.stamp, "stamp", "", "the file, below root, with the digest of each target that passed: try one by one those targets that changed since, and write the digests of those that pass")
	flags.DurationVar(&o.within, "within", 0, "with -stamp: end after this time, and name the targets for which it was too short; 0 is no limit")
	flags.BoolVar(&o.own, "own", false, "run only the tests of the package itself: faster, but more mutants survive")
	flags.StringVar(&o.by, "by", "",
		"run only the tests of this package folder, which need not be a target: to see what these tests notice by themselves")
	flags.IntVar(&o.sample, "n", 0, "how many mutants of each package to try, chosen at random from those that are not in the list; 0 is all")
	flags.Uint64Var(&o.seed, "seed", 1, "the seed of the random choice of -n")
	flags.IntVar(&o.workers, "workers", 2, "how many processes run at a time")
	flags.DurationVar(&o.grace, "grace", 10*time.Second,
		"the CPU time that tests may use with a mutant, in addition to five times what they use without it")
	flags.DurationVar(&o.longest, "longest", measure.MaxTestTime, "leave out tests that use more CPU time: faster, but more mutants survive")
	flags.Float64Var(&o.least, "least", 95, "the minimum percentage of noticed mutants of each package, if all mutants are tried")
	flags.Usage = func() {
		fmt.Fprintln(errs, "usage: mutants [flags] [package folder ...]")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.output != "table" && o.output != "json" {
		return nil, fmt.Errorf("unknown output %q", o.output)
	}
	if o.stamp != "" && (o.own || o.by != "" || o.match != "" || o.sample > 0) {
		return nil, errors.New("-stamp tries all mutants, so it excludes -own, -by, -match and -n")
	}
	if o.stamp == "" && o.within > 0 {
		return nil, errors.New("-within needs -stamp")
	}
	for _, folder := range flags.Args() {
		o.packages = append(o.packages, filepath.Clean(folder))
	}
	return o, nil
}

func run(ctx context.Context, targets []target, args []string, out, errs io.Writer) error {
	o, err := parse(args, errs)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	o.root = root
	text, err := os.ReadFile(filepath.Join(root, o.list))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	list, err := survivors.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.list, err)
	}
	chosen, err := choose(targets, o.packages)
	if err != nil {
		return err
	}
	if o.own {
		chosen = withoutAbove(chosen)
	}
	if o.by != "" {
		chosen = withTestsOf(chosen, filepath.Clean(o.by))
	}
	if o.stamp != "" {
		return tryStale(ctx, o, chosen, list, out, errs)
	}
	results, err := try(ctx, o, chosen, list, errs)
	if err != nil {
		return err
	}
	slices.SortFunc(results, func(a, b measure.Result) int { return a.ID - b.ID })
	all := o.sample == 0 && o.match == ""
	s := summarize(results, list.Compare(results, all && len(o.packages) == 0))
	if err := s.print(o.output, out); err != nil {
		return err
	}
	return o.judge(s, all)
}

// judge returns an error if a survivor is not in the list, or if all mutants were tried and the
// tests notice too few of a package.
func (o *options) judge(s *summary, all bool) error {
	var wrong []string
	if len(s.New) > 0 {
		wrong = append(wrong, "some mutants are neither noticed nor in "+o.list)
	}
	if each, _ := s.counts(); all {
		for _, c := range each {
			if c.percent() < o.least {
				wrong = append(wrong, fmt.Sprintf("fewer than %v %% of the mutants of %s are noticed", o.least, c.Package))
			}
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
