// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kubefuzzer "k8s.io/kubernetes/pkg/api/testing"
	core "k8s.io/kubernetes/pkg/apis/core"
)

func podTarget() granular.Target {
	return granular.Target{Kind: corev1.SchemeGroupVersion.WithKind("Pod"),
		Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme)}
}

// builtIn calls f for each built-in kind in each version, with the internal type of the kind.
func builtIn(f func(target granular.Target, internal reflect.Type)) {
	scheme := legacyscheme.Scheme
	for kind := range scheme.AllKnownTypes() {
		internal, err := scheme.New(kind.GroupKind().WithVersion(runtime.APIVersionInternal))
		if kind.Version == runtime.APIVersionInternal || err != nil || !scheme.IsVersionRegistered(kind.GroupVersion()) {
			continue
		}
		f(granular.Target{Kind: kind, Convertor: runtime.UnsafeObjectConvertor(scheme)}, reflect.TypeOf(internal).Elem())
	}
}

// TestScratchAsNew checks, for all built-in kinds, that converting into an object that was used
// before has the same result as converting into a new object. Emptying the converted object must
// not change the original.
func TestScratchAsNew(t *testing.T) {
	fill := apifuzzer.FuzzerFor(kubefuzzer.FuzzerFuncs, rand.NewSource(1), legacyscheme.Codecs).NumElements(1, 2)
	kinds, reused := 0, 0
	builtIn(func(target granular.Target, internal reflect.Type) {
		s, converted := &Scratch{}, false
		for range 8 {
			obj := reflect.New(internal).Interface().(runtime.Object)
			fill.Fill(obj)
			want, wantErr := target.Convertor.ConvertToVersion(obj, target.Kind.GroupVersion())
			if wantErr != nil {
				return // most often a list, or options: types that are not written as objects
			}
			before := obj.DeepCopyObject()
			was := s.new.into
			got, err := s.New(target, obj)
			if err != nil || !reflect.DeepEqual(got, any(want)) {
				t.Fatalf("%s: %v, (-new +reused):\n%s", target.Kind, err, cmp.Diff(any(want), got))
			}
			if was != nil && got == any(was) {
				converted = true
			}
			if s.new.empty(); !reflect.DeepEqual(obj, before) {
				t.Fatalf("%s: the object changed with its version:\n%s", target.Kind, cmp.Diff(before, obj))
			}
		}
		kinds++
		if converted {
			reused++
		}
	})
	if kinds < 300 || reused < kinds*9/10 {
		t.Errorf("%d kinds, %d of them converted again and again", kinds, reused)
	}
}

// refusing is a scheme whose method Convert always fails.
type refusing struct{ *runtime.Scheme }

func (refusing) Convert(any, any, any) error { return ErrNotComparable }

// TestScratchRefused checks that a failed conversion returns an error, and that GiveBack leaves
// nothing of the object in the Scratch.
func TestScratchRefused(t *testing.T) {
	target, pool, s := podTarget(), &Pool{}, &Scratch{}
	named := &core.Pod{}
	named.Name = "p"
	convert := func(by runtime.ObjectConvertor) error {
		target.Convertor = by
		_, err := s.New(target, named)
		_, errOld := s.Old(target, named)
		return errors.Join(err, errOld)
	}
	if err := convert(refusing{legacyscheme.Scheme}); err != nil || s.new.into == nil || s.old.into == nil || s.new.into == s.old.into {
		t.Fatal(err, s)
	}
	if convert(refusing{legacyscheme.Scheme}) == nil {
		t.Error("not refused")
	}
	if convert(nil) == nil {
		t.Error("converted by nobody")
	}
	if err := convert(runtime.UnsafeObjectConvertor(legacyscheme.Scheme)); err != nil {
		t.Error("another convertor is not asked:", err)
	}
	pool.GiveBack(s)
	for _, v := range []buffer{s.new, s.old} {
		if !reflect.ValueOf(v.into).Elem().IsZero() {
			t.Errorf("%v is left", v.into)
		}
	}
}

// TestScratchOfAnotherType checks that a Scratch does not reuse an object of one type for another
// type.
func TestScratchOfAnotherType(t *testing.T) {
	s := &Scratch{}
	for _, obj := range []runtime.Object{&core.Pod{}, &core.Pod{}, &core.Node{}, &core.Pod{}} {
		target := podTarget()
		got, err := s.New(target, obj)
		want, _ := Versioned(target, obj)
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("a %T for a %T: %v", got, obj, err)
		}
		s.new.empty()
	}
}

// TestPoolLends checks that a pool always lends a Scratch that is not lent to anybody else, and
// that a nil pool lends none.
func TestPoolLends(t *testing.T) {
	pool := &Pool{}
	for range 2 {
		a, b := pool.Borrow(), pool.Borrow()
		if a == nil || b == nil || a == b {
			t.Errorf("lent are %p and %p", a, b)
		}
		pool.GiveBack(a)
		pool.GiveBack(b)
	}
	if s := (*Pool)(nil).Borrow(); s != nil {
		t.Error("no pool lends a scratch")
	}
	(*Pool)(nil).GiveBack(nil)
}

// TestScratchLeavesOthersAlone checks that GiveBack empties no object that the Scratch did not
// create: an object that needs no conversion, and an object that belongs to the convertor.
func TestScratchLeavesOthersAlone(t *testing.T) {
	pool, s := &Pool{}, &Scratch{}
	kept := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	target, mine := namespaceTarget(), custom()
	target.Convertor = keeping{converting{target.Convertor}, kept}
	for range 2 {
		if got, err := s.New(target, namespace("u")); err != nil || got != any(kept) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := s.Old(target, mine); err != nil || got != any(mine) {
			t.Errorf("%v, %v", got, err)
		}
		pool.GiveBack(s)
	}
	if kept.Name != "kept" || len(mine.Object) == 0 {
		t.Errorf("emptied: %v, %v", kept, mine)
	}
}

// keeping is a convertor that always returns the same object, which it owns.
type keeping struct {
	converting
	own runtime.Object
}

func (k keeping) ConvertToVersion(runtime.Object, runtime.GroupVersioner) (runtime.Object, error) {
	return k.own, nil
}
