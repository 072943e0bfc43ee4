// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"kube-granular.dev/pkg/cli/roletest/format"
	"kube-granular.dev/pkg/cli/roletest/judge"
	"kube-granular.dev/pkg/cli/roletest/output"
)

var (
	// ErrFailed means that cases failed, or that roles have what no case needs.
	ErrFailed = errors.New("the tests failed")
	// ErrInvalid means that tests are not valid, or could not be run.
	ErrInvalid = errors.New("some tests are not valid")
)

// Options select the tests.
type Options struct {
	Files []string
	// Output is one of output.Formats.
	Output string
	// Tight also fails the tests if a role has a part that no case needs.
	Tight bool
	// Exported judges what kubectl granular export vap writes for the roles, on a stock server.
	Exported bool
	// AllowNetwork allows objects that make the server connect to an address.
	AllowNetwork bool
}

// Start runs a new server with an authorization configuration, or with RBAC if there is none, calls use,
// and removes the server.
type Start func(ctx context.Context, authorization []byte, use func(context.Context, judge.Access) error) error

// Run runs tests and prints their results. It returns nil if all passed.
func Run(ctx context.Context, o Options, start Start, out io.Writer) error {
	if err := output.Check(o.Output); err != nil {
		return err
	}
	if o.Tight && o.Exported {
		return errors.New("--tight is about the roles themselves, so it can't be used with --exported")
	}
	tests, reports := read(o)
	if len(reports) == 0 {
		authorization, err := authorizationOf(tests)
		if err != nil {
			return err
		}
		if err := start(ctx, authorization, func(ctx context.Context, access judge.Access) error {
			reports, err = judgeAll(ctx, access, tests, o)
			return err
		}); err != nil {
			return err
		}
	}
	if err := output.Print(out, o.Output, reports); err != nil {
		return err
	}
	switch c := output.Count(reports); {
	case c.Errors+c.Problems > 0:
		return ErrInvalid
	case c.Failed+c.Loose > 0:
		return ErrFailed
	}
	return nil
}

// read reads all tests. If some have mistakes, their reports are returned, and no test is run.
func read(o Options) (tests []*format.Test, reports []*judge.Report) {
	for _, file := range o.Files {
		test, err := format.Read(file, o.AllowNetwork)
		if err != nil {
			reports = append(reports, &judge.Report{File: file, Problem: err, Cases: []judge.Result{}})
		}
		tests = append(tests, test)
	}
	return tests, reports
}

// authorizationOf returns the authorization configuration of all tests. One server judges them all.
func authorizationOf(tests []*format.Test) ([]byte, error) {
	for _, t := range tests {
		if !bytes.Equal(t.Authorization, tests[0].Authorization) {
			return nil, fmt.Errorf("%s and %s have different authorization configurations, so run them one at a time", tests[0].File, t.File)
		}
	}
	return tests[0].Authorization, nil
}

func judgeAll(ctx context.Context, access judge.Access, tests []*format.Test, o Options) ([]*judge.Report, error) {
	server, err := judge.New(ctx, access, o.Exported)
	if err != nil {
		return nil, err
	}
	var reports []*judge.Report
	for i, test := range tests {
		report, err := server.Judge(ctx, test, o.Tight)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		reports = append(reports, report)
		if err == nil {
			continue
		}
		// The server has objects that do not belong to the next tests.
		report.Problem = errors.Join(report.Problem, err)
		for _, other := range tests[i+1:] {
			reports = append(reports, &judge.Report{File: other.File, Cases: []judge.Result{},
				Problem: fmt.Errorf("not run, because the objects of %s are not gone", test.File)})
		}
		break
	}
	return reports, nil
}
