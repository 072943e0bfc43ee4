// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutate puts small faults, mutants, into the sources of a package, all of
// them at once, each behind a switch of its own. A test binary that is compiled once
// then runs as any one of them:
//
//	if err != nil {             if (err != nil) != mutantIs(7) {
//	w.missing = nil             if !mutantIs(8) { w.missing = nil }
//	return a && b               return ((a) != mutantIs(9) && (b) != mutantIs(9)) != mutantIs(9)
//
// The environment variable [EnvOn] of the process says which one is on; without it
// the sources do what they did. With [EnvReached] the process notes which switches it
// came by. Lines keep their numbers.
//
// Sources are rewritten by syntax alone, so what a mutant does to types is known only
// as far as a function's signature says it.
package mutate
