// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"testing"

	"kube-granular.dev/granular/change"
)

// BenchmarkValues compares 20,000 new elements of a list whose elements have a permission made from
// a value, and decides about them. Elements of one value have one verb, which the caller holds.
// Elements of many values have more verbs than a request may ask for, so they are refused. So is a
// caller that holds no verb, whose refusal looks at each value.
func BenchmarkValues(b *testing.B) {
	const elements = 20_000
	one, many := make([]string, elements), make([]string, elements)
	for i := range elements {
		one[i], many[i] = "k", fmt.Sprintf("k%d", i)
	}
	w := valuesWalker(b)
	for name, keys := range map[string][]string{"one": one, "many": many} {
		old, updated := withTaints(nil), withTaints(keys)
		b.Run("compare/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Compare(change.All, old, updated); err != nil {
					b.Fatal(err)
				}
			}
		})
		set, err := w.Compare(change.All, old, updated)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("answerable/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				change.Answerable(set, set)
			}
		})
		b.Run("decide/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(&allowing{}, 0).Decide(b.Context(), set, true); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("refuse/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if refusal, err := New(&holder{}, 0).Decide(b.Context(), set, true); err != nil || refusal == nil {
					b.Fatal(refusal, err)
				}
			}
		})
	}
}
