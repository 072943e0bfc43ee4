// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
)

const library = "staging/src/kube-granular.dev/granular/"

// target is a package whose mutants are tried.
type target struct {
	folder string
	// above are packages that use the target. Their tests run for the mutants that the target's own
	// tests do not notice. Packages with quick tests, and direct users, are first.
	above []string
}

// targets are the packages with the code that decides what a caller may change.
var targets = []target{
	{"pkg/gate", nil},
	{"pkg/gate/convert", []string{"pkg/gate"}},
	{"pkg/gate/redact", []string{"pkg/gate"}},
	{"pkg/crd", nil},
	{library + "decide", []string{library + "corpus", "test/corpus", "pkg/gate"}},
	{library + "protect", nil},
	{library + "change", []string{library + "corpus", "test/corpus", library + "decide", "pkg/gate"}},
	{library + "equal", []string{library + "change", "speed/equality", "pkg/gate"}},
	{library + "internal/fast", []string{library + "equal", library + "change", "speed/equality"}},
	{library + "schema", []string{library + "corpus", "pkg/crd", "test/corpus", library + "change", "pkg/gate"}},
	{library + "schema/internal/intern", []string{library + "schema"}},
}

// choose returns the targets in the given folders, or all targets if there are no folders.
func choose(targets []target, folders []string) ([]target, error) {
	if len(folders) == 0 {
		return targets, nil
	}
	var out []target
	for _, folder := range folders {
		i := slices.IndexFunc(targets, func(t target) bool { return t.folder == folder || t.folder == library+folder })
		if i < 0 {
			return nil, fmt.Errorf("%s is not a target of mutants", folder)
		}
		out = append(out, targets[i])
	}
	return out, nil
}

// withoutAbove returns the targets with empty fields above, so that only the tests of each target
// itself run for its mutants.
func withoutAbove(targets []target) []target {
	out := slices.Clone(targets)
	for i := range out {
		out[i].above = nil
	}
	return out
}
