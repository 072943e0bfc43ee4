// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

const library = "staging/src/kube-granular.dev/granular/"

// target is a package whose mutants are tried.
type target struct {
	folder string
	// longest is the CPU time of the longest test of the target that runs. It leaves out slow tests
	// that notice no mutant which quick tests do not. 0 is no limit.
	longest time.Duration
	// above are packages that use the target. Their tests run for the mutants that the target's own
	// tests do not notice. Packages with quick tests, and direct users, are first. It is empty where
	// the target's own tests suffice.
	above []string
}

// targets are the packages with the code that decides what a caller may change, and whose
// authority a request has.
var targets = []target{
	{"pkg/gate", time.Second, nil},
	{"pkg/gate/convert", 0, nil},
	{"pkg/gate/redact", 0, nil},
	{"pkg/crd", 0, nil},
	{"pkg/exclusion", time.Second, nil},
	{"pkg/expression", 2 * time.Second, nil},
	{"pkg/included", time.Second, nil},
	{"pkg/metadataread", time.Second, nil},
	{"pkg/questions", time.Second, nil},
	{"pkg/rolecheck", time.Second, nil},
	{"pkg/rbacindex", time.Second, nil},
	{"pkg/protected", time.Second, nil},
	{"pkg/protected/status", time.Second, nil},
	{"pkg/registry/authority", 3 * time.Second, nil},
	{"pkg/authorizationconfig", 2 * time.Second, nil},
	{"pkg/fieldpermission", time.Second, nil},
	{"pkg/selected", 5 * time.Second, nil},
	{"pkg/mirror", time.Second, nil},
	{"pkg/delegation", time.Second, nil},
	{"pkg/delegation/issue", time.Second, nil},
	{"pkg/delegation/policy", time.Second, nil},
	{"pkg/delegation/sweep", time.Second, nil},
	{library + "permission", time.Second, nil},
	{library + "registry", time.Second, nil},
	{library + "decide", 0, nil},
	{library + "protect", 0, nil},
	{library + "change", 0, []string{library + "corpus", "test/corpus", library + "decide", "pkg/gate"}},
	{library + "overlay", time.Second, nil},
	{library + "equal", 0, nil},
	{library + "internal/fast", 0, []string{library + "equal", library + "change", "speed/equality"}},
	{library + "schema", 20 * time.Second, []string{library + "decide", library + "change"}},
	{library + "schema/internal/intern", 0, nil},
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

// withTestsOf returns the targets with the tests of one other package, which run in round 1.
func withTestsOf(targets []target, folder string) []target {
	out := slices.Clone(targets)
	for i := range out {
		out[i].above = []string{folder}
	}
	return out
}
