// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"kube-granular.dev/hack/mutants/internal/measure"
	"kube-granular.dev/hack/mutants/internal/survivors"
)

// summary has the results of a run and their difference from the list of survivors.
type summary struct {
	survivors.Difference
	results []measure.Result
}

func summarize(results []measure.Result, found survivors.Difference) *summary {
	slices.Sort(found.Missing)
	return &summary{Difference: found, results: results}
}

// count has the numbers of mutants of one package, or of all packages.
type count struct {
	Package string `json:"package"`
	Mutants int    `json:"mutants"`
	Reached int    `json:"reached"`
	Noticed int    `json:"noticed"`
	// TimedOut is the number of mutants that were noticed because the tests took too long.
	TimedOut int `json:"timedOut"`
	Listed   int `json:"listed"`
}

func (c *count) add(r measure.Result) {
	c.Mutants++
	if r.Reached {
		c.Reached++
	}
	if r.Noticed {
		c.Noticed++
	}
	if r.TimedOut {
		c.TimedOut++
	}
}

func (c *count) percent() float64 {
	if c.Mutants == 0 {
		return 100
	}
	return 100 * float64(c.Noticed) / float64(c.Mutants)
}

// counts returns the numbers of mutants of each package, and of all packages together.
func (s *summary) counts() (each []count, all count) {
	all.Package = "all"
	for _, r := range s.results {
		if len(each) == 0 || each[len(each)-1].Package != r.Package {
			each = append(each, count{Package: r.Package})
		}
		each[len(each)-1].add(r)
		all.add(r)
	}
	for _, r := range s.Listed {
		i := slices.IndexFunc(each, func(c count) bool { return c.Package == r.Package })
		each[i].Listed++
		all.Listed++
	}
	return each, all
}

// print writes the summary in the format of the option -o.
func (s *summary) print(format string, out io.Writer) error {
	if format == "json" {
		return s.json(out)
	}
	return s.table(out)
}

func (s *summary) table(out io.Writer) error {
	each, all := s.counts()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PACKAGE\tMUTANTS\tREACHED\tNOTICED\t\tTIMED OUT\tLISTED")
	for _, c := range append(each, all) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f %%\t%d\t%d\n", c.Package, c.Mutants, c.Reached, c.Noticed, c.percent(), c.TimedOut, c.Listed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	show := func(title string, results []measure.Result) {
		if len(results) > 0 {
			fmt.Fprintf(out, "\n%s\n", title)
		}
		for _, r := range results {
			how := ""
			if !r.Reached {
				how = " (no test reaches it)"
			}
			fmt.Fprintf(out, "  %s%s\n    %s\n", r.Where(), how, r.Key())
		}
	}
	show("Survived, and are not in the list:", s.New)
	show("In the list, but noticed:", s.Difference.Noticed)
	if len(s.Missing) > 0 {
		fmt.Fprintf(out, "\nIn the list, but the mutant does not exist:\n")
	}
	for _, key := range s.Missing {
		fmt.Fprintf(out, "  %s\n", key)
	}
	_, err := fmt.Fprintf(out, "\n%d mutants, %d noticed (%.1f %%), %d listed, %d new\n", all.Mutants, all.Noticed, all.percent(),
		len(s.Listed), len(s.New))
	return err
}

func (s *summary) json(out io.Writer) error {
	each, all := s.counts()
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Packages []count          `json:"packages"`
		All      count            `json:"all"`
		New      []measure.Result `json:"new"`
		Listed   []measure.Result `json:"listed"`
		Noticed  []measure.Result `json:"listedButNoticed"`
		Gone     []string         `json:"listedButGone"`
		Mutants  []measure.Result `json:"mutants"`
	}{each, all, s.New, s.Listed, s.Difference.Noticed, s.Missing, s.results})
}
