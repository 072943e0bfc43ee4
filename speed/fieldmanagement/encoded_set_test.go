// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// canonical reports whether upstream decodes a set without an error, and would encode it to the
// same bytes.
func canonical(raw []byte) bool {
	set := fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(raw)); err != nil {
		return false
	}
	again, err := set.ToJSON()
	return err == nil && bytes.Equal(again, raw)
}

var readable = []string{
	`{}`,
	`{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}},"f:spec":{}}`,
	`{"f:":{},"f: ":{},"f:example.com/x-y_z":{}}`,
	`{"f:finalizers":{".":{},"v:\"a\"":{},"v:\"ab\"":{},"v:\"abA\"":{},"v:\"b\"":{}}}`,
	`{"f:l":{"k:{\"containerPort\":9,\"protocol\":\"TCP\"}":{".":{},"f:x":{}},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{}}}`,
	`{"f:l":{"k:{\"a\":-1}":{},"k:{\"a\":0}":{},"k:{\"a\":0,\"b\":1}":{},"k:{\"a\":999999999999999}":{},"k:{\"a\":\"\"}":{},"k:{\"a\":false}":{},"k:{\"a\":true}":{},"k:{\"b\":1}":{}}}`,
	`{"f:x":{},"k:{\"a\":1}":{},"v:-1":{},"v:1":{},"v:\"1\"":{},"v:false":{},"v:true":{}}`,
}

// unreadable are sets that read must not confirm: upstream would encode them in another way, or
// read does not examine their form.
var unreadable = []string{
	``, `{`, `}`, `null`, `[]`, ` {}`, `{} `, `{}{}`, `{"f:a":{}`, `{"f:a":{}},`, `{"f:a":{},}`, `{"f:a":{} }`, `{"f:a" :{}}`, `{"f:a"}`, `{'f:a":{}}`, `{"f:a":{},`, `{"v:1x:{}}`, `{"v:1x":{}}`, `{"f:a"x{}}`, `{"f:>":{}}`, `{"f:&":{}}`, `{"f:a":{"f:b":{}`, `{"f:a":x}`, `{"f:a":}`, `{"f:a":1}`,
	`{"f:b":{},"f:a":{}}`, `{"f:a":{},"f:a":{}}`, `{"k:{\"a\":1}":{},"f:a":{}}`, `{"v:1":{},"k:{\"a\":1}":{}}`, `{"v:10":{},"v:9":{}}`,
	`{".":{}}`, `{".":{},"f:a":{}}`, `{"f:a":{".":{}}}`, `{"f:a":{".":{},}}`, `{"f:a":{"f:b":{},".":{}}}`, `{"f:a":{".":{},".":{},"f:b":{}}}`, `{"f:a":{".":{"f:c":{}},"f:b":{}}}`,
	`{"x:a":{}}`, `{"f":{}}`, `{"":{}}`, `{"fa":{}}`, `{"g:a":{}}`, `{"i:0":{}}`,
	`{"f:\u0061":{}}`, `{"f:a\"b":{}}`, `{"f:<":{}}`, `{"f:ä":{}}`, "{\"f:\x01\":{}}", "{\"f:\n\":{}}", "{\"f:\x1f\":{}}", "{\"f:\x7f\":{}}", "{\"f:\xff\":{}}",
	`{"v:1.0":{}}`, `{"v:1.5":{}}`, `{"v:1e3":{}}`, `{"v:01":{}}`, `{"v:-0":{}}`, `{"v:-":{}}`, `{"v:":{}}`, `{"v:9007199254740993":{}}`, `{"v:null":{}}`, `{"v:[]":{}}`, `{"v:{}":{}}`,
	`{"v:tru":{}}`, `{"v:trux":{}}`, `{"v:falsx":{}}`, `{"v:\"a\\":{}}`, `{"k:(\"a\":1}":{}}`, `{"k:{\"a\";1}":{}}`, `{"v:\"a":{}}`, `{"v:\"\\u0061\"":{}}`, `{"v:\"<\"":{}}`, `{"v:1 ":{}}`, `{"v:\"b\"":{},"v:\"a\"":{}}`, `{"v:\"a\"":{},"v:1":{}}`, `{"v:true":{},"v:false":{}}`,
	`{"v:\"abA\"":{},"v:\"ab\"":{}}`, `{"k:{}":{}}`, `{"k:{\"a\"}":{}}`, `{"k:{\"a\":1":{}}`, `{"k:{\"a\":1,}":{}}`, `{"k:{\"b\":1,\"a\":1}":{}}`, `{"k:{\"a\":1,\"a\":1}":{}}`,
	`{"k:{\"a\": 1}":{}}`, `{"k:{\"a\":1}x":{}}`, `{"k:{\"abA\":1,\"ab\":1}":{}}`, `{"k:{\"b\":1}":{},"k:{\"a\":1}":{}}`, `{"k:{\"a\":10}":{},"k:{\"a\":9}":{}}`, `{"k:{\"a\":1,\"b\":1}":{},"k:{\"a\":1}":{}}`,
}

func TestRead(t *testing.T) {
	for _, raw := range readable {
		if _, ok := read([]byte(raw)); !ok || !canonical([]byte(raw)) {
			t.Errorf("%s: read %v, spelled so by upstream %v", raw, ok, canonical([]byte(raw)))
		}
	}
	for _, raw := range unreadable {
		if _, ok := read([]byte(raw)); ok {
			t.Errorf("%s: was read; spelled so by upstream: %v", raw, canonical([]byte(raw)))
		}
	}
	if _, ok := read([]byte(`{"f:` + strings.Repeat("a", maxRaw) + `":{}}`)); ok {
		t.Error("no limit of size")
	}
	deep := strings.Repeat(`{"f:a":`, maxDepth+2) + "{}" + strings.Repeat("}", maxDepth+2)
	if _, ok := read([]byte(deep)); ok {
		t.Error("no limit of depth")
	}
}

// pieces are parts of encoded sets, which misspell inserts to make sets that are valid or nearly
// valid.
var pieces = []string{"{", "}", "{}", ",", ":", `"`, `".":{},`, `"f:a":{}`, `"f:b":{}`, `"f:a"`, `"f:`, `"v:1":{}`, `"v:\"a\"":{}`, `"v:\"aA\"":{}`, `"k:{\"a\":1}":{}`, `"k:{\"a\":`, `\"`,
	`"k:{\"a\":\"x\",\"b\":2}":{}`, `"k:{\"a\":\"x\",\"b\":10}":{".":{},"f:a":{}}`, "-", "0", "1", "10", "true", "false", "a", "A", "b", " ", `\`, "<", "ä", ".", "e3", "null", "i:0"}

// misspell changes some bytes of an encoded set at random, or swaps two of its elements.
func misspell(r *rand.Rand, raw []byte) []byte {
	out := slices.Clone(raw)
	for range r.IntN(3) {
		at := r.IntN(len(out) + 1)
		to := min(len(out), at+r.IntN(6))
		switch r.IntN(4) {
		case 0:
			out = slices.Delete(out, at, to)
		case 1:
			out = slices.Insert(out, at, slices.Clone(out[at:to])...)
		default:
			out = slices.Insert(out, at, []byte(pieces[r.IntN(len(pieces))])...)
		}
	}
	if pairs := bytes.Split(out, []byte(",")); r.IntN(3) == 0 && len(pairs) > 1 {
		i := r.IntN(len(pairs) - 1)
		pairs[i], pairs[i+1] = pairs[i+1], pairs[i]
		out = bytes.Join(pairs, []byte(","))
	}
	return out
}

// randomSet returns a set of random path elements.
func randomSet(r *rand.Rand, depth int) *fieldpath.Set {
	set := fieldpath.NewSet()
	for range 1 + r.IntN(4) {
		e := randomElement(r)
		if r.IntN(2) == 0 || depth == 0 {
			set.Members.Insert(e)
		}
		if depth > 0 && r.IntN(2) == 0 {
			*set.Children.Descend(e) = *set.Children.Descend(e).Union(randomSet(r, depth-1))
		}
	}
	return set
}

func randomElement(r *rand.Rand) fieldpath.PathElement {
	scalar := func() value.Value {
		usual := []any{words[r.IntN(len(words))], "aA", "ab", int64(r.IntN(30) - 10), r.IntN(2) == 0}
		odd := []any{int64(1) << r.IntN(62), "<", "ä", 1.5, nil}
		if r.IntN(40) > 0 {
			odd = usual
		}
		return value.NewValueInterface(odd[r.IntN(5)])
	}
	switch r.IntN(8) {
	case 0:
		return fieldpath.ValueElement(scalar())
	case 1, 2:
		keys := value.FieldList{}
		for _, name := range []string{"a", "b", "bA"} {
			if r.IntN(2) == 0 || name == "bA" && len(keys) == 0 {
				keys = append(keys, value.Field{Name: name, Value: scalar()})
			}
		}
		return fieldpath.KeyElement(keys...)
	case 3:
		if r.IntN(10) == 0 {
			return fieldpath.IndexElement(r.IntN(3))
		}
	}
	return fieldpath.FieldNameElement([]string{"", "1", "a", "aA", "b", "c", "d", "example.com/x"}[r.IntN(8)])
}

// TestReadIsSpelled checks for random sets, valid and invalid, that upstream would encode each
// set that read confirms to the same bytes.
func TestReadIsSpelled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 16))
	got, right := 0, 0
	for i := range *rounds * 5 {
		raw, err := randomSet(r, 3).ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			raw = misspell(r, raw)
		}
		_, ok := read(raw)
		is := canonical(raw)
		if ok && !is {
			t.Fatalf("%s: was read, and upstream spells it otherwise", raw)
		}
		if is {
			right++
		}
		if ok {
			got++
		}
	}
	t.Logf("%d of %d that are spelled right were read", got, right)
	if got < right*2/3 || right == *rounds*5 {
		t.Errorf("the random cases are too one-sided: %d of %d", got, right)
	}
}

func FuzzRead(f *testing.F) {
	for _, raw := range append(slices.Clone(readable), unreadable...) {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, ok := read(raw); ok && !canonical(raw) {
			t.Errorf("%s: was read, and upstream spells it otherwise", raw)
		}
	})
}

// TestOrder holds that compareElements orders path elements as upstream does.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 16))
	compared := 0
	for range *rounds * 5 {
		a, b := randomElement(r), randomElement(r)
		x, err := fieldpath.SerializePathElement(a)
		y, err2 := fieldpath.SerializePathElement(b)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		escape := strings.NewReplacer(`"`, `\"`)
		x, y = escape.Replace(x), escape.Replace(y)
		if !isElement(x) || !isElement(y) {
			continue
		}
		compared++
		if got, want := compareElements([]byte(x), []byte(y)), a.Compare(b); got != want {
			t.Fatalf("%s against %s: %d, and %d upstream", x, y, got, want)
		}
	}
	if compared < *rounds*3 {
		t.Errorf("too few elements were compared: %d", compared)
	}
}

func isElement(s string) bool {
	_, ok := read([]byte(fmt.Sprintf(`{"%s":{}}`, s)))
	return ok
}

// randomDropped returns random dropped fields, down to the given depth.
func randomDropped(r *rand.Rand, depth int) (out []dropped) {
	for _, name := range []string{"", "1", "a", "aA", "b", "c", "d", "example.com/x"} {
		switch below := r.IntN(4); {
		case below == 0:
			out = append(out, dropped{name: name})
		case below == 1 && depth > 0:
			if d := randomDropped(r, depth-1); len(d) > 0 {
				out = append(out, dropped{name, d})
			}
		}
	}
	return out
}

func isDropped(d []dropped, p fieldpath.Path) bool {
	for _, here := range d {
		if len(p) > 0 && p[0].FieldName != nil && *p[0].FieldName == here.name {
			return len(here.below) == 0 || isDropped(here.below, p[1:])
		}
	}
	return false
}

// TestSplit holds that the two parts of a split set together have exactly the paths of the set,
// each in the right part. It also holds that union gives the same as upstream's Union, for these
// parts and for any two sets.
func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 16))
	parted := 0
	for range *rounds * 2 {
		set := randomSet(r, 3)
		raw, err := set.ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		f, ok := read(raw)
		if !ok {
			continue
		}
		set = decode(raw) // unlike the random set, the decoded one has no empty elements
		d := randomDropped(r, 2)
		if len(d) == 0 {
			continue
		}
		compared, rest := f.compared(d), union(emptySet.iterate(nil), f.iterate(d))
		for _, part := range []struct {
			raw     []byte
			dropped bool
		}{{compared, false}, {rest, true}} {
			want := fieldpath.NewSet()
			set.Iterate(func(p fieldpath.Path) {
				if isDropped(d, p) == part.dropped {
					want.Insert(p.Copy())
				}
			})
			if text, err := want.ToJSON(); err != nil || string(text) != string(part.raw) {
				t.Fatalf("%s without %v (dropped: %v):\n%s\nwant %s (%v)", raw, d, part.dropped, part.raw, text, err)
			}
		}
		a, ok := read(compared)
		b, ok2 := read(rest)
		if !ok || !ok2 {
			t.Fatalf("%s: parts are not spelled right: %s, %s", raw, compared, rest)
		}
		if len(a.nodes) > 0 && len(b.nodes) > 0 {
			parted++
		}
		if again := union(a.iterate(nil), f.iterate(d)); string(again) != string(raw) {
			t.Fatalf("%s and %s: %s, want %s", compared, rest, again, raw)
		}
		other := randomSet(r, 3)
		if text, err := other.ToJSON(); err == nil {
			if c, ok := read(text); ok {
				want, err := set.Union(decode(text)).ToJSON()
				if got := union(f.iterate(nil), c.iterate(nil)); err != nil || string(got) != string(want) {
					t.Fatalf("%s and %s: %s, want %s (%v)", raw, text, got, want, err)
				}
				want, err = decode(text).Union(decode(rest)).ToJSON()
				if got := union(c.iterate(nil), f.iterate(d)); err != nil || string(got) != string(want) {
					t.Fatalf("%s and %v of %s: %s, want %s (%v)", text, d, raw, got, want, err)
				}
			}
		}
	}
	if parted < *rounds/5 {
		t.Errorf("too few sets were split: %d", parted)
	}
}

// TestSettled holds that reconciled reports true exactly for the sets that upstream's
// reconciliation leaves unchanged, for random schemas.
func TestSettled(t *testing.T) {
	settled, changed := 0, 0
	for seed := range uint64(*rounds) {
		r := rand.New(rand.NewPCG(seed, 17))
		w := plainWrite(t, r)
		if r.IntN(4) == 0 {
			w = typedWrite(t, r)
		}
		v, err := w.converter.ObjectToTyped(w.live, typed.AllowDuplicates)
		if err != nil {
			continue
		}
		set, err := v.ToFieldSet()
		if err != nil {
			continue
		}
		set = deepened(r, set)
		raw, err := set.ToJSON()
		if err != nil {
			continue
		}
		f, ok := read(raw)
		if !ok {
			continue
		}
		got, err := typed.ReconcileFieldSetWithSchema(decode(raw), v)
		leaves := err == nil && got == nil
		if !leaves {
			changed++
		}
		at := root{v.Schema(), v.TypeRef(), r.IntN(2) == 0 && complete(v.Schema(), v.TypeRef(), map[string]bool{})}
		// A part of a set is reconciled exactly if that part as a set of its own would be.
		d := []dropped{{"metadata", []dropped{{name: "labels"}}}, {name: "spec"},
			{"status", []dropped{{name: "f0"}, {name: "f1"}}}}[r.IntN(3):]
		if part, err := typed.ReconcileFieldSetWithSchema(decode(union(emptySet.iterate(nil), f.iterate(d))), v); f.iterate(d).reconciled(at, at.ref) != (err == nil && part == nil) {
			t.Fatalf("seed %d: of %s %v is settled otherwise than upstream's %v (%v)", seed, raw, d, part, err)
		}
		if f.iterate(nil).reconciled(at, at.ref) {
			settled++
			if !leaves {
				t.Fatalf("seed %d: %s is settled, and upstream makes %v of it (%v)", seed, raw, got, err)
			}
		} else if leaves {
			t.Fatalf("seed %d: %s is not settled, and upstream leaves it alone", seed, raw)
		}
	}
	t.Logf("%d settled, %d changed", settled, changed)
	if settled < *rounds/5 || changed < *rounds/50 {
		t.Errorf("the random cases are too one-sided: %d settled, %d changed", settled, changed)
	}
	// Upstream's reconciliation fails if a type is missing in the schema.
	gone, there := "gone", "there"
	f, _ := read([]byte(`{"f:a":{}}`))
	text := schema.Scalar("string")
	s := &schema.Schema{Types: []schema.TypeDef{{Name: there, Atom: schema.Atom{Scalar: &text}}}}
	known := schema.TypeRef{NamedType: &there}
	for i, ref := range []schema.TypeRef{{NamedType: &gone}, {}, {Inlined: schema.Atom{List: &schema.List{}}}, {Inlined: schema.Atom{Map: &schema.Map{Fields: []schema.StructField{{Name: "a", Type: schema.TypeRef{NamedType: &gone}}}}}},
		{Inlined: schema.Atom{Map: &schema.Map{ElementType: schema.TypeRef{NamedType: &gone}}}}} {
		if f.iterate(nil).reconciled(root{s, ref, complete(s, ref, map[string]bool{})}, ref) {
			t.Errorf("%d: settled", i)
		}
	}
	for i, ref := range []schema.TypeRef{known, {Inlined: schema.Atom{Map: &schema.Map{}}}, {Inlined: schema.Atom{Map: &schema.Map{ElementType: known}}}, {Inlined: schema.Atom{List: &schema.List{ElementType: known}}}} {
		if !complete(s, ref, map[string]bool{}) || !f.iterate(nil).reconciled(root{s, ref, true}, ref) {
			t.Errorf("%d: not settled", i)
		}
	}
}

// deepened returns a set with additional paths below some of its paths, as if these were
// recorded before a type became atomic.
func deepened(r *rand.Rand, set *fieldpath.Set) *fieldpath.Set {
	out := set.Copy()
	set.Iterate(func(p fieldpath.Path) {
		if r.IntN(5) == 0 {
			out.Insert(append(p.Copy(), randomElement(r)))
		}
	})
	return out
}
