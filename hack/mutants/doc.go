// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command mutants measures whether the tests detect faults in the code that decides what a
// caller may change (mutation testing).
//
//	make mutants                        all of them
//	make mutants MUTANTS=20 SEED=7      20 of each package, chosen at random
//	make mutants MUTANTS_ARGS="-match compareSet change"
//	make mutants MUTANTS_ARGS="-own -longest 1s schema"
//	make mutants MUTANTS=50 MUTANTS_ARGS="-by staging/src/kube-granular.dev/granular/rule/worlds decide change"
//
//	make mutants-all                    those of all packages that changed since they passed
//
// The command with -own runs only quick tests of the package itself. It finds mutants that perhaps
// survive all tests too. With -by it runs only the tests of one other package, to measure these.
//
// The command makes small faults (mutants), one at a time: a condition is negated, && becomes
// ||, == becomes !=, < becomes <=, a returned bool is inverted, a returned error becomes nil
// and nil an error, and a statement is removed. For each mutant it runs the tests that reach
// it: those of its own package and, if they pass, those of packages that use it and the corpus.
// A mutant survives if all tests pass.
//
//	PACKAGE   MUTANTS  REACHED  NOTICED          TIMED OUT  LISTED
//	pkg/gate  412      410      401      97.3 %  2          10
//
//	Survived, and are not in the list:
//	  pkg/gate/patch.go:38
//	    pkg/gate/patch.go: (*write).Patch: removed: w.verdict.Store(&verdict{...
//
// A mutant may cause an endless loop. It counts as noticed if tests use more CPU time than five
// times the CPU time without the mutant, plus ten seconds. CPU time does not depend on other
// processes of the machine.
//
// While it runs it prints each new survivor.
//
// A survivor means that a test is missing, that the code is superfluous, or that the mutant has no
// observable effect. Only mutants without an observable effect belong in the list survivors.txt,
// with a reason. The list identifies a mutant by its file, its function and its text, so that it
// stays valid when other lines change. The command fails if a survivor is not in the list, or if
// the tests notice fewer than 95 % of the mutants of a package. docs/measurements/mutants.md has
// the results. A random sample contains no mutants of the list.
//
// All mutants of all packages take more than an hour. So make mutants-all uses -stamp: the file
// hack/mutants/passed has the digest that each package had when it passed. The digest is of the
// sources, the tests and the survivors of the package. Only packages with another digest are tried,
// and those that pass are written into the file, which is committed with the change. With -within
// the command ends in time, and names the packages and the number of mutants that are left: the
// seed chooses the package and the mutants that are first.
// The digest does not contain the packages that a package imports. To try all again, delete the file.
//
// Nothing is written into the tree but that file: the compiler reads the changed sources through -overlay. All
// mutants are compiled into the test binaries together, each behind a switch; see package mutate.
// Tools that link once for each mutant, such as gremlins, would need half a minute for each
// mutant of pkg/gate.
package main
