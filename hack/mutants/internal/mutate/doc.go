// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutate adds small faults (mutants) to the sources of a package, all at once, each
// behind a switch. So a test binary is compiled once and can run with any one of the mutants:
//
//	if err != nil {             if (err != nil) != mutantIs(7) {
//	w.missing = nil             if !mutantIs(8) { w.missing = nil }
//	return a && b               return ((a) != mutantIs(9) && (b) != mutantIs(9)) != mutantIs(9)
//
// The environment variable [EnvOn] selects the enabled mutant. Without this variable the behaviour
// is unchanged. With [EnvReached] the process writes the IDs of the mutants that it reaches to a
// file. Line numbers do not change.
//
// Sources are rewritten by syntax only, so types are known only from the signatures of functions.
package mutate
