// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command mutants finds out whether the tests would notice a fault in the code that
// decides what a caller may change.
//
//	make mutants                        all of them
//	make mutants MUTANTS=20 SEED=7      20 of each package, chosen at random
//	make mutants MUTANTS_ARGS="-match compareSet change"
//	make mutants MUTANTS_ARGS="-own -longest 1s schema"
//
// The last only asks quick tests of the package itself: it is for finding what to look at.
//
// It makes small faults, one at a time: a condition is negated, && becomes ||, == becomes
// !=, < becomes <=, a bool that is returned is flipped, an error that is returned becomes nil
// and nil an error, and a statement is left out. For each it runs the tests that come by
// it: those of its own package and, if they pass, those of packages above and the corpus.
// A fault with which they all pass survives.
//
//	PACKAGE   MUTANTS  REACHED  NOTICED          TIMED OUT  LISTED
//	pkg/gate  412      410      401      97.3 %  2          10
//
//	Survived, and are not in the list:
//	  pkg/gate/patch.go:38
//	    pkg/gate/patch.go: (*write).Patch: removed: w.verdict.Store(&verdict{...
//
// A mutant may make a loop that does not end. Tests have noticed it that compute ten
// seconds and five times as long as without it; that others use the machine does not count.
//
// While it runs it names each new survivor; with -again and a file of these lines it tries
// those once more, which is quick.
//
// What survives is a test that is missing, or a line that is; or it changes nothing that
// anybody can see. Only the last belongs into the list, survivors.txt, with its reason. A
// mutant is known there by its file, its function and its text, so the list stays good
// while other lines come and go. One that survives and is not in the list makes the command
// fail, as do fewer than 95 % noticed of a package. docs/measurements/mutants.md has the
// figures. A sample has none of the list.
//
// Nothing is written into the tree: the compiler reads the changed sources by -overlay. All
// mutants are compiled into the test binaries at once, each behind a switch; package mutate
// says how. Tools that link once for each mutant, as gremlins does, would take half a minute
// for one of pkg/gate.
package main
