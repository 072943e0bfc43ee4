// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	forked "k8s.io/apimachinery/third_party/forked/golang/reflect"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
)

// oracle is upstream's own code. Compiled comparisons are used only for equality.Semantic
// itself, and not for a copy.
var oracle = upstream.Semantic.Copy()

// kinds are the Go types of all API kinds, versioned and internal, and of their struct fields,
// which strategies compare, by name.
var kinds = func() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, s := range []*runtime.Scheme{scheme.Scheme, legacyscheme.Scheme} {
		for _, t := range s.AllKnownTypes() {
			out[t.String()] = t
			for i := range t.NumField() {
				if f := t.Field(i).Type; f.Kind() == reflect.Struct {
					out[f.String()] = f
				}
			}
		}
	}
	return out
}()

// agree checks that the compiled comparison of a type gives the same result as upstream's code.
// It compares two equal random values, of which one is then changed up to twice, and reports
// whether they were equal.
func agree(t *testing.T, c *comparisons, typ reflect.Type, seed uint64) bool {
	t.Helper()
	a, b := reflect.New(typ), reflect.New(typ)
	fill(rand.New(rand.NewPCG(seed, 1)), a.Elem(), 4)
	fill(rand.New(rand.NewPCG(seed, 1)), b.Elem(), 4)
	r := rand.New(rand.NewPCG(seed, 2))
	for range r.IntN(3) {
		alter(r, b.Elem(), 4)
	}
	var equal bool
	for _, pair := range [][2]any{{a.Interface(), b.Interface()}, {b.Interface(), a.Interface()}, {a.Elem().Interface(), b.Elem().Interface()}, {a.Interface(), a.Interface()}} {
		want := oracle.DeepEqual(pair[0], pair[1])
		got, known := c.compare(pair[0], pair[1])
		if !known || got != want {
			t.Fatalf("%s, seed %d: %v, known %v, upstream says %v\n%+v\n%+v", typ, seed, got, known, want, pair[0], pair[1])
		}
		equal = equal || got && pair[0] != pair[1]
	}
	return equal
}

// TestSameAnswers compares random values of every supported type, and checks that the compiled
// comparison agrees with upstream's code.
func TestSameAnswers(t *testing.T) {
	c := &comparisons{}
	equal, all := 0, 0
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		typ := kinds[name]
		if !supported(typ) || typ.Kind() != reflect.Struct || typ == timeType {
			continue
		}
		for seed := range uint64(60) {
			all++
			if agree(t, c, typ, seed) {
				equal++
			}
		}
	}
	t.Logf("%d pairs, %d equal", all, equal)
	if all < 30000 || equal < all/5 || equal > all*4/5 {
		t.Errorf("%d of %d pairs were equal, which is too one-sided for a test", equal, all)
	}
}

func FuzzSameAnswers(f *testing.F) {
	c := &comparisons{}
	types := slices.DeleteFunc(slices.SortedFunc(maps.Values(kinds), func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) }),
		func(t reflect.Type) bool { return !supported(t) })
	for seed := range uint64(3) {
		f.Add(seed, uint16(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, i uint16) { agree(t, c, types[int(i)%len(types)], seed) })
}

// TestUpstreamAnswers checks for which arguments the function of New gives no result, so that
// upstream's code runs.
func TestUpstreamAnswers(t *testing.T) {
	on := true
	f := New(func() bool { return on })
	a, b := &core.Pod{}, &core.Pod{}
	var none *core.Pod
	other := upstream.Semantic.Copy()
	for _, test := range []struct {
		name string
		on   bool
		e    forked.Equalities
		a, b any
		want bool
	}{
		{"two pods", true, upstream.Semantic.Equalities, a, b, true},
		{"two structs", true, upstream.Semantic.Equalities, *a, *b, true},
		{"two lists", true, upstream.Semantic.Equalities, []core.Pod{}, []core.Pod(nil), true},
		{"two maps", true, upstream.Semantic.Equalities, map[string]string{}, map[string]string{"a": "b"}, true},
		{"the gate is off", false, upstream.Semantic.Equalities, a, b, false},
		{"a copy of Semantic", true, other.Equalities, a, b, false},
		{"no Equalities", true, nil, a, b, false},
		{"nil and a pod", true, upstream.Semantic.Equalities, nil, a, false},
		{"a pod and nil", true, upstream.Semantic.Equalities, a, nil, false},
		{"a pod and a nil one", true, upstream.Semantic.Equalities, a, none, false},
		{"a nil pod and one", true, upstream.Semantic.Equalities, none, a, false},
		{"nil pods", true, upstream.Semantic.Equalities, none, none, false},
		{"two types", true, upstream.Semantic.Equalities, a, &corev1.Pod{}, false},
		{"a pod and its pointer", true, upstream.Semantic.Equalities, a, *a, false},
		{"texts", true, upstream.Semantic.Equalities, "a", "a", false},
		{"what is not understood", true, upstream.Semantic.Equalities, &hidden{}, &hidden{}, false},
	} {
		on = test.on
		if _, known := f(test.e, test.a, test.b); known != test.want {
			t.Errorf("%s: known %v", test.name, known)
		}
	}
}

// TestInstalled holds that equality.Semantic calls the installed function, that a copy of
// equality.Semantic does not use its result, and that upstream still panics on an unexported
// field.
func TestInstalled(t *testing.T) {
	asked := 0
	forked.InstallCompiled(func(e forked.Equalities, _, _ any) (bool, bool) {
		asked++
		return true, isSemantic(e)
	})
	defer forked.InstallCompiled(nil)
	a, b := &core.Pod{}, &core.Pod{Spec: core.PodSpec{NodeName: "n"}}
	if !upstream.Semantic.DeepEqual(a, b) || asked != 1 {
		t.Error("equality.Semantic did not call the installed function")
	}
	if oracle.DeepEqual(a, b) {
		t.Error("a copy of equality.Semantic used the result of the installed function")
	}
	forked.InstallCompiled(New(func() bool { return true }))
	if upstream.Semantic.DeepEqual(a, b) || !upstream.Semantic.DeepEqual(a, a.DeepCopy()) {
		t.Error("the wrong answer")
	}
	defer func() {
		if text, ok := recover().(interface{ Error() string }); !ok || !strings.Contains(text.Error(), "unexported field") {
			t.Errorf("the panic of upstream is %v", text)
		}
	}()
	upstream.Semantic.DeepEqual(&hidden{Below: []unexported{{1}}}, &hidden{Below: []unexported{{1}}})
}
