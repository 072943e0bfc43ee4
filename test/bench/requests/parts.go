// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// part is one of the parts of the server's work, each sample being of one.
type part string

const (
	partOurs   part = "our code"
	partPlugin part = "policy plugin"
	partFilter part = "authorizer in the filter"
	// partRest is the same work whatever rule is in force. It is what turns are compared by.
	partRest part = "rest"
)

var parts = []part{partOurs, partPlugin, partFilter, partRest}

// marks is what functions tell of a stack they are on.
type marks uint8

const (
	// growing says that the stack was being grown, whole that its root is there: of one that
	// was being grown perf sees what is innermost.
	growing marks = 1 << iota
	whole
	// plugin is of the admission plugin for policies, what it asks the authorizer included.
	plugin
	// gate is ours, what it asks the authorizer included; handingOn says that it does no more
	// than to hand on what the filter asks, unless fine is there.
	gate
	handingOn
	fine
	// filter is of the filter that authorizes requests, asking that it asks.
	filter
	asking
)

// told are the marks of functions whose names hold something.
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

// partOf says which part of the work a stack is of. known remembers the marks of functions.
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
