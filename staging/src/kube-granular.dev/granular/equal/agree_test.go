// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// agreeFast fails the test unless each compiled comparison returns the same as its reference. It
// compares two structs with equal random content, in which one field may be filled anew, and two
// unrelated structs. It reports whether Values finds the two former structs equal.
func agreeFast(t *testing.T, seed uint64) (equal bool) {
	t.Helper()
	a, b := &zoo{}, &zoo{}
	fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(a).Elem(), 3)
	fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(b).Elem(), 3)
	r := rand.New(rand.NewPCG(seed, 4))
	field := reflect.ValueOf(b).Elem().Field(r.IntN(reflect.TypeFor[zoo]().NumField()))
	if seed%3 > 0 {
		field.SetZero()
		if fill(r, field, 2); seed%3 == 2 {
			b.Inner.c = "x"
		}
	}
	compare := strict.Of(reflect.TypeFor[zoo]())
	for _, pair := range [][2]*zoo{{a, b}, {b, a}, {a, a}} {
		x, y := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		want := Values(x.Elem(), y.Elem())
		if got := compare(x.UnsafePointer(), y.UnsafePointer()); got != want {
			t.Fatalf("seed %d: fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		equal = equal || want && pair[0] != pair[1]
		agreeObjects(t, seed, pair[0], pair[1])
		want = exactlyEqual(x.Elem(), y.Elem())
		if got := Exact(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: exactly, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = bitwiseEqual(x.Elem(), y.Elem())
		if got := Bitwise(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: bitwise, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = semanticallyEqual(x.Elem(), y.Elem())
		if got := Semantic(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: by semantics, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = bitwiseEqual(x.Elem(), y.Elem())
		if want && !reflect.DeepEqual(pair[0], pair[1]) && !hasNaN(x) {
			t.Fatalf("seed %d: bitwise equal, not deeply\n%+v\n%+v", seed, pair[0], pair[1])
		}
	}
	stranger := &zoo{}
	fill(rand.New(rand.NewPCG(seed, 5)), reflect.ValueOf(stranger).Elem(), 3)
	agreeObjects(t, seed, a, stranger)
	return equal
}

func TestFastAgreesWithReference(t *testing.T) {
	equal := 0
	const rounds = 4000
	for seed := range uint64(rounds) {
		if agreeFast(t, seed) {
			equal++
		}
	}
	if equal < rounds/5 || equal > rounds*4/5 {
		t.Errorf("%d of %d pairs were equal: that is no test", equal, rounds)
	}
}

func FuzzFast(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { agreeFast(t, seed) })
}
