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
	// growing means that the runtime was growing the goroutine's stack. whole means that the
	// sample contains the outermost function. While a stack grows, perf may see only the innermost
	// functions.
	growing marks = 1 << iota
	whole
	// plugin means that the admission plugin for policies is running. This includes the
	// authorization checks that it makes.
	plugin
	// gate means that package gate, which authorizes single fields, is on the stack. This includes
	// the authorization checks that it makes. handingOn means that package gate only passes on an
	// authorization check that the filter makes. fine means that package gate authorizes single
	// fields. If fine is set, handingOn does not count.
	gate
	handingOn
	fine
	// filter means that the HTTP filter that authorizes requests is on the stack. asking means
	// that an authorizer is on the stack.
	filter
	asking
)

// told lists which marks a function gives to a stack. name is a part of the function's name.
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
		mark, ok := known[function]
		if !ok {
			mark = marksOf(function)
			known[function] = mark
		}
		m |= mark
	}
	marked := func(all marks) bool { return m&all == all }
	switch {
	case marked(growing) && !marked(whole):
		return partRest
	case marked(plugin):
		return partPlugin
	case marked(handingOn) && !marked(fine):
		return partFilter
	case marked(gate):
		return partOurs
	case marked(filter | asking):
		return partFilter
	}
	return partRest
}
