// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// part is a part of the server's work. Each sample of the profiler belongs to exactly one part.
type part string

const (
	partOurs   part = "our code"
	partPlugin part = "policy plugin"
	partFilter part = "authorizer in the filter"
	// partRest is the work that does not depend on the rule in force, so turns are scaled by it.
	partRest part = "rest"
)

var parts = []part{partOurs, partPlugin, partFilter, partRest}

// marks are facts about a stack that follow from the functions on it.
type marks uint8

const (
	// growing means that the goroutine's stack was being grown, and whole that the sample has the
	// root of the stack. Of a stack that is being grown, perf may see only the innermost functions.
	growing marks = 1 << iota
	whole
	// plugin means that the admission plugin for policies runs, including its authorization checks.
	plugin
	// gate means that package gate, which authorizes single fields, runs or makes authorization
	// checks. handingOn means that package gate only passes on an authorization check of the filter.
	// fine means that it authorizes single fields; then handingOn does not count.
	gate
	handingOn
	fine
	// filter means that the HTTP filter that authorizes requests runs. asking means that an
	// authorizer runs.
	filter
	asking
)

// told lists marks by substrings of function names.
var told = []struct {
	name string
	marks
}{
	{"runtime.morestack", growing},
	{"runtime.goexit", whole},
	{"admission/plugin/policy/validating", plugin},
	{"admission/plugin/policy/generic", plugin},
	{"kube-granular.dev/pkg/gate", gate},
	{"pkg/gate.(*Gate).Authorize", handingOn},
	{"pkg/gate.(*Gate).Fallback", fine},
	{"pkg/gate.(*write)", fine},
	{"filters.WithAuthorization", filter},
	{"filters.withAuthorization", filter},
	{"union.unionAuthz", asking},
	{"authorizer.(*reloadableAuthorizerResolver).Authorize", asking},
}

func marksOf(function string) (m marks) {
	for _, t := range told {
		if strings.Contains(function, t.name) {
			m |= t.marks
		}
	}
	return m
}

// partOf returns the part of the work to which a stack belongs. known caches the marks of functions.
func partOf(stack []string, known map[string]marks) part {
	var m marks
	for _, function := range stack {
		of, ok := known[function]
		if !ok {
			of = marksOf(function)
			known[function] = of
		}
		m |= of
	}
	has := func(all marks) bool { return m&all == all }
	switch {
	case has(growing) && !has(whole):
		return partRest
	case has(plugin):
		return partPlugin
	case has(handingOn) && !has(fine):
		return partFilter
	case has(gate):
		return partOurs
	case has(filter | asking):
		return partFilter
	}
	return partRest
}
