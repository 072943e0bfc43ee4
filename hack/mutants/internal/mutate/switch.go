// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import "fmt"

const (
	// EnvOn is the name of the environment variable with the ID of the enabled mutant.
	EnvOn = "MUTANT_ON"
	// EnvReached is the name of an environment variable whose value is the path of a file. A test
	// process appends to this file the ID of each mutant that it reaches, one on each line.
	EnvReached = "MUTANT_REACHED"
)

// switchFile is the name of the source that Package adds to a package, with the functions of the
// switches.
const switchFile = "zz_mutant_switch.go"

// switchSource returns the source with the functions that the rewritten sources of a package call.
// name is the name of the package, and last is the greatest ID of a mutant.
func switchSource(name string, last int) []byte {
	return fmt.Appendf(nil, `package %s

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"sync/atomic"
)

var mutantOn, mutantSeen, mutantFile = mutantStart()

func mutantStart() (int, []atomic.Bool, *os.File) {
	on, _ := strconv.Atoi(os.Getenv(%q))
	name := os.Getenv(%q)
	if name == "" {
		return on, nil, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return on, make([]atomic.Bool, %d), file
}

func mutantIs(n int) bool { return n == mutantOn || mutantSeen != nil && mutantNote(n) }

func mutantNote(n int) bool {
	if !mutantSeen[n].Load() && !mutantSeen[n].Swap(true) {
		if _, err := mutantFile.WriteString(strconv.Itoa(n) + "\n"); err != nil {
			panic(err)
		}
	}
	return false
}

var errMutant = errors.New("this error is a mutant")

func mutantMade(n int, err error) error {
	if mutantIs(n) {
		return errMutant
	}
	return err
}

func mutantDropped(n int, err error) error {
	if mutantIs(n) {
		return nil
	}
	return err
}

func mutantDropped2[A any](n int) func(A, error) (A, error) {
	return func(a A, err error) (A, error) { return a, mutantDropped(n, err) }
}

func mutantFlipped2[A any](n int) func(A, bool) (A, bool) {
	return func(a A, b bool) (A, bool) { return a, b != mutantIs(n) }
}

func mutantLess[T cmp.Ordered](n int, a, b T) bool {
	return a < b || a == b && mutantIs(n)
}

func mutantLessOrEqual[T cmp.Ordered](n int, a, b T) bool {
	return a < b || a == b && !mutantIs(n)
}

func mutantGreater[T cmp.Ordered](n int, a, b T) bool {
	return a > b || a == b && mutantIs(n)
}

func mutantGreaterOrEqual[T cmp.Ordered](n int, a, b T) bool {
	return a > b || a == b && !mutantIs(n)
}

// Not every package uses all of them.
var _ = []any{mutantMade, mutantDropped2[int], mutantFlipped2[int], mutantLess[int], mutantLessOrEqual[int], mutantGreater[int], mutantGreaterOrEqual[int]}
`, name, EnvOn, EnvReached, last+1)
}
