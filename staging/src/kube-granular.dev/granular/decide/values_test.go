// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// valuesModel has permissions whose parameters are made from values.
const valuesModel = `
spec:
  x-kubernetes-permission-verb: specification
  properties:
    image:
      type: string
      x-kubernetes-permission-verb: image,imageFrom
      x-kubernetes-permission-parameterized-by: self
      x-kubernetes-permission-parameter-treatment: image-repository-prefix
    taints:
      x-kubernetes-permission-verb: taints
      items:
        type: object
        x-kubernetes-permission-verb: taint
        x-kubernetes-permission-parameterized-by: self.key
        properties:
          key: {type: string}
          effect: {type: string, x-kubernetes-permission-verb: effect}
          level:
            type: string
            x-kubernetes-permission-verb: level
            x-kubernetes-permission-parameterized-by: self
    guards:
      items:
        type: object
        x-kubernetes-permission-verb: guard
        x-kubernetes-permission-excluded: true
        x-kubernetes-permission-parameterized-by: self.key
        properties: {key: {type: string}}
    mode:
      type: string
      x-kubernetes-permission-verb: mode
      x-kubernetes-permission-excluded: true
      x-kubernetes-permission-parameterized-by: self
      x-kubernetes-permission-parameter-expression: self
`

func valuesWalker(t testing.TB) *change.Walker {
	t.Helper()
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte("properties:\n"+strings.ReplaceAll(valuesModel, "\n", "\n  ")), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"root": root}, schema.WithExpressions(picky{})).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	return change.NewWalker(tree)
}

func parsed(t testing.TB, text string) object {
	t.Helper()
	var out object
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestValues checks that verbs must cover both the old and the new value of a field. Each allowed
// case is refused if any one verb is removed.
func TestValues(t *testing.T) {
	const team, other, vendor = "registry.example/team/app:v1", "registry.example/other/app:v1", "vendor.example/app:v1"
	image := func(v string) string { return "spec: {image: '" + v + "'}" }
	taints := func(v ...string) string { return "spec: {taints: [" + strings.Join(v, ", ") + "]}" }
	for _, test := range []struct {
		name     string
		unmarked bool
		old, new string
		// final is the object about to be stored. It is new if empty.
		final string
		holds string
		// needs is the end of the refusal, and empty if the request is allowed.
		needs string
	}{
		{name: "another tag", old: image(team), new: image("registry.example/team/app:v2"),
			holds: "imageFrom(registry.example/team/app)"},
		{name: "another tag, which lacks one verb for both", old: image(team), new: image("registry.example/team/app:v2"),
			needs: `needs one of the verbs "granular:imageFrom(registry.example/team/app)", "granular:specification"`},
		{name: "another tag by the folder", old: image(team), new: image("registry.example/team/app:v2"),
			holds: "imageFrom(registry.example/team)"},
		{name: "another tag by the registry", old: image(team), new: image("registry.example/team/app:v2"),
			holds: "imageFrom(registry.example)"},
		{name: "another tag by the general permission", old: image(team),
			new: image("registry.example/team/app:v2"), holds: "image"},
		{name: "another repository", old: image(team), new: image(other),
			holds: "imageFrom(registry.example/team) imageFrom(registry.example/other)"},
		{name: "to another repository alone", old: image(team), new: image(other), holds: "imageFrom(registry.example/other)",
			needs: `needs one of the verbs "granular:imageFrom(registry.example/team/app)", "granular:specification"`},
		{name: "another repository, with neither", old: image(team), new: image(other),
			needs: `needs both of the verbs "granular:imageFrom(registry.example/team/app)" and "granular:imageFrom(registry.example/other/app)", or the verb "granular:specification"`},
		{name: "an image without a registry, with neither", old: image(team), new: image("nginx"),
			needs: `needs one of the verbs "granular:image", "granular:specification"`},
		{name: "a webhook stores a third registry, with none", old: image(team), new: image(vendor), final: image("mirror.example/app:v1"),
			needs: `needs all of the verbs "granular:imageFrom(registry.example/team/app)" and "granular:imageFrom(mirror.example/app)" and "granular:imageFrom(vendor.example/app)", or the verb "granular:specification"`},
		{name: "four taints, all of which a message names", old: taints("{key: a}"), new: taints("{key: b}", "{key: c}", "{key: d}"),
			needs: `needs all of the verbs "granular:taint(a)" and "granular:taint(b)" and "granular:taint(c)" and "granular:taint(d)", or the verb "granular:specification"`},
		{name: "five taints, which are more than a message names", old: taints("{key: a}"), new: taints("{key: b}", "{key: c}", "{key: d}", "{key: e}"),
			needs: `needs one of the verbs "granular:taints", "granular:specification"`},
		{name: "five excluded elements, with no general verb", unmarked: true, old: "spec: {guards: [{key: a}]}", new: "spec: {guards: [{key: b}, {key: c}, {key: d}, {key: e}]}",
			needs: `needs all of the verbs "granular:guard(a)" and "granular:guard(b)" and "granular:guard(c)" and "granular:guard(d)" and 1 more`},
		{name: "an excluded value, with neither", unmarked: true, old: "spec: {mode: soft}", new: "spec: {mode: hard}", holds: "specification",
			needs: `needs both of the verbs "granular:mode(soft)" and "granular:mode(hard)"`},
		{name: "from another registry", old: image(vendor), new: image(team), holds: "imageFrom(registry.example/team)",
			needs: `needs one of the verbs "granular:imageFrom(vendor.example/app)", "granular:specification"`},
		{name: "the first image", old: "spec: {x: 1}", new: "spec: {x: 1, image: '" + team + "'}",
			holds: "imageFrom(registry.example/team)"},
		{name: "no image any more", old: "spec: {x: 1, image: '" + team + "'}", new: "spec: {x: 1}",
			holds: "imageFrom(registry.example/team)"},
		{name: "a sibling whose name goes on", old: image(team), new: image("registry.example/team-evil/app"), holds: "imageFrom(registry.example/team)",
			needs: `needs one of the verbs "granular:imageFrom(registry.example/team-evil/app)", "granular:specification"`},
		{name: "an image without a registry", old: image(team), new: image("nginx"), holds: "imageFrom(registry.example/team) imageFrom(docker.io)",
			needs: `needs one of the verbs "granular:image", "granular:specification"`},
		{name: "an image that is no string", old: image(team), new: "spec: {image: [1]}", holds: "imageFrom(registry.example/team)",
			needs: `needs one of the verbs "granular:image", "granular:specification"`},
		{name: "a webhook stores another registry", old: image(team), new: image("registry.example/team/app:v2"), final: image("mirror.example/team/app:v2"),
			holds: "imageFrom(registry.example/team) imageFrom(mirror.example)"},
		{name: "a webhook stores what was allowed", old: image(team), new: image(vendor), final: image("registry.example/team/app:v2"), holds: "imageFrom(registry.example/team)",
			needs: `needs one of the verbs "granular:imageFrom(vendor.example/app)", "granular:specification"`},
		{name: "a webhook stores what was allowed, and more", old: image(team), new: image(vendor),
			final: "spec: {image: 'registry.example/team/app:v2', x: 1}", holds: "imageFrom(registry.example/team)",
			needs: `needs one of the verbs "granular:imageFrom(vendor.example/app)", "granular:specification"`},
		{name: "a webhook makes a list of what was none", old: taints("{key: a}"), new: "spec: {taints: {key: a}}",
			final: taints("{key: a}", "{key: b}"), holds: "taint(a) taint(b)",
			needs: `needs one of the verbs "granular:taints", "granular:specification"`},
		{name: "a webhook puts the old image back", old: image(team), new: image(vendor), final: image(team)},

		{name: "a taint comes", old: taints("{key: a}"), new: taints("{key: a}", "{key: b}"), holds: "taint(b)"},
		{name: "a taint comes first", old: taints("{key: a}"), new: taints("{key: b}", "{key: a}"), holds: "taint(b)"},
		{name: "a taint goes from the middle", old: taints("{key: a}", "{key: b}", "{key: c}"),
			new: taints("{key: a}", "{key: c}"), holds: "taint(b)"},
		{name: "the last taint goes", old: taints("{key: a}"), new: taints(), holds: "taint(a)"},
		{name: "a taint becomes another", old: taints("{key: a}"), new: taints("{key: b}"), holds: "taint(a) taint(b)"},
		{name: "somebody's taint goes with mine", old: taints("{key: a}", "{key: b}"), new: taints("{key: c}"), holds: "taint(b) taint(c)",
			needs: `needs one of the verbs "granular:taint(a)", "granular:specification"`},
		{name: "an effect, narrowly", old: taints("{key: a, effect: x}", "{key: b}"),
			new: taints("{key: a, effect: y}", "{key: b}"), holds: "effect"},
		{name: "an effect by the key", old: taints("{key: a, effect: x}", "{key: b}"),
			new: taints("{key: a, effect: y}", "{key: b}"), holds: "taint(a)"},
		{name: "a level by its values", old: taints("{key: a, level: x}"), new: taints("{key: a, level: z}"),
			holds: "level(x) level(z)"},
		{name: "a level by the key of its taint", old: taints("{key: a, level: x}"),
			new: taints("{key: a, level: z}"), holds: "taint(a)"},
		{name: "a level by a mixture", old: taints("{key: a, level: x}"), new: taints("{key: a, level: z}"), holds: "taint(b) level(z)",
			needs: `needs one of the verbs "granular:level(x)", "granular:specification"`},
		{name: "a value that is too long", unmarked: true, old: "spec: {x: 1}", new: "spec: {mode: " + strings.Repeat("b", 300) + "}", holds: "specification",
			needs: `the parameter "` + strings.Repeat("b", 64) + `..." is longer than the 256 bytes that a verb may have`},
		{name: "a taint twice", old: taints("{key: a}"), new: taints("{key: a}", "{key: a}"), holds: "taint(a)"},
		{name: "the order", old: taints("{key: a}", "{key: b}"), new: taints("{key: b}", "{key: a}"), holds: "taint(a) taint(b)",
			needs: `needs one of the verbs "granular:taints", "granular:specification"`},
		{name: "the order by the list", old: taints("{key: a}", "{key: b}"), new: taints("{key: b}", "{key: a}"),
			holds: "taints"},
		{name: "a taint without a key", old: taints(), new: taints("{effect: x}"), holds: "taint()"},
		{name: "a taint that is no object", old: taints(), new: taints("3"), holds: "taint() taint(3)",
			needs: `needs one of the verbs "granular:taints", "granular:specification"`},
		{name: "taints that are no list", old: taints("{key: a}"), new: "spec: {taints: {key: a}}", holds: "taint(a)",
			needs: `needs one of the verbs "granular:taints", "granular:specification"`},
		{name: "a webhook adds a taint", old: taints("{key: a}"), new: taints("{key: a}", "{key: b}"),
			final: taints("{key: a}", "{key: b}", "{key: w}"), holds: "taint(b) taint(w)"},

		{name: "an excluded value, for a holder of update", unmarked: true, old: "spec: {mode: soft}",
			new: "spec: {mode: hard}", holds: "mode(soft) mode(hard)"},
		{name: "an excluded value by what includes nothing of it", unmarked: true, old: "spec: {mode: soft}", new: "spec: {mode: hard}", holds: "specification mode(hard)",
			needs: `needs the verb "granular:mode(soft)"`},
		{name: "an excluded value that makes no parameter", unmarked: true, old: "spec: {mode: soft}", new: "spec: {mode: bad}", holds: "specification mode(soft) mode(bad)",
			needs: "the permission of this field has no parameter for this value"},
		{name: "an excluded element comes", unmarked: true, old: "spec: {guards: [{key: a}]}",
			new: "spec: {guards: [{key: a}, {key: b}]}", holds: "guard(b)"},
		{name: "an excluded element is replaced", unmarked: true, old: "spec: {guards: [{key: a}]}",
			new: "spec: {guards: [{key: b}]}", holds: "guard(a) guard(b)"},
		{name: "excluded elements are reordered by a holder of update", unmarked: true,
			old: "spec: {guards: [{key: a}, {key: b}]}", new: "spec: {guards: [{key: b}, {key: a}]}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			mode := change.All
			if test.unmarked {
				mode = change.ExcludedOnly
			}
			old := parsed(t, test.old)
			w := valuesWalker(t)
			judge := func(holds []string) *Refusal {
				observed, err := w.Compare(mode, old, parsed(t, test.new))
				if err != nil {
					t.Fatal(err)
				}
				d := New(&holder{t: t, holds: holds}, 0)
				if d.CoveredAsObserved(context.Background(), observed, !test.unmarked) {
					return nil
				}
				final := test.final
				if final == "" {
					final = test.new
				}
				stored, err := w.CompareObserved(mode, observed, old, parsed(t, final))
				if err != nil {
					t.Fatal(err)
				}
				refusal, err := d.Decide(context.Background(), change.Answerable(observed, stored), !test.unmarked)
				if err != nil {
					t.Fatal(err)
				}
				return refusal
			}
			var holds []string
			for _, verb := range strings.Fields(test.holds) {
				holds = append(holds, "granular:"+verb)
			}
			refusal := judge(holds)
			if test.needs != "" {
				if refusal == nil || refusal.Needs() != test.needs {
					t.Fatalf("got %v, want %s", refusal.Needs(), test.needs)
				}
				// What the refusal names together suffices, and nothing less.
				if len(refusal.Together) > 0 && judge(append(slices.Clone(holds), refusal.Together...)) != nil {
					t.Errorf("refused with %v", refusal.Together)
				}
				for i := range refusal.Together {
					if judge(append(slices.Clone(holds), slices.Delete(slices.Clone(refusal.Together), i, i+1)...)) == nil {
						t.Errorf("allowed without %s", refusal.Together[i])
					}
				}
				return
			}
			if refusal != nil {
				t.Fatalf("refused: %s", refusal.Message(""))
			}
			for i := range holds {
				if judge(slices.Delete(slices.Clone(holds), i, i+1)) == nil {
					t.Errorf("allowed without %s", holds[i])
				}
			}
		})
	}
}

// TestValuesOfLists compares random lists. A list may become another if the caller holds the keys
// of all elements that do not keep their order, in both lists.
func TestValuesOfLists(t *testing.T) {
	w := valuesWalker(t)
	allowed, refused, strict := 0, 0, 0
	for seed := range uint64(6000) {
		r := rand.New(rand.NewPCG(seed, 17))
		list := func() []string {
			out := make([]string, r.IntN(5))
			for i := range out {
				out[i] = string(rune('a' + r.IntN(3)))
			}
			return out
		}
		old, new := list(), list()
		if r.IntN(2) == 0 { // a list that is similar to the old one
			new = slices.Clone(old)
			for range r.IntN(3) {
				if at := r.IntN(len(new) + 1); r.IntN(2) == 0 || at == len(new) {
					new = slices.Insert(new, at, string(rune('a'+r.IntN(3))))
				} else {
					new = slices.Delete(new, at, at+1)
				}
			}
		}
		var holds []string
		for _, key := range []string{"a", "b", "c"} {
			if r.IntN(2) == 0 {
				holds = append(holds, key)
			}
		}
		set, err := w.Compare(change.All, withTaints(old), withTaints(new))
		if err != nil {
			t.Fatal(err)
		}
		verbs := make([]string, len(holds))
		for i, key := range holds {
			verbs[i] = "granular:taint(" + key + ")"
		}
		may := decideWith(t, set, true, verbs) == nil
		switch should := mayBecome(old, new, holds); {
		case may && !should:
			t.Fatalf("seed %d: %v becomes %v with %v", seed, old, new, holds)
		case may:
			allowed++
		case should:
			strict++
		default:
			refused++
		}
	}
	// If an element is added or removed beside an equal element, the walk may find a new order.
	if allowed < 500 || refused < 500 || strict > 200 {
		t.Errorf("%d allowed, %d refused, %d refused that might be allowed", allowed, refused, strict)
	}
}

func withTaints(keys []string) object {
	list := make([]any, len(keys))
	for i, key := range keys {
		list[i] = object{"key": key}
	}
	return object{"spec": object{"taints": list}}
}

// mayBecome reports whether old and new have a common subsequence such that the caller holds the
// keys of all other elements.
func mayBecome(old, new, holds []string) bool {
	if len(old) == 0 || len(new) == 0 {
		return !slices.ContainsFunc(slices.Concat(old, new), func(k string) bool { return !slices.Contains(holds, k) })
	}
	return old[0] == new[0] && mayBecome(old[1:], new[1:], holds) ||
		slices.Contains(holds, old[0]) && mayBecome(old[1:], new, holds) ||
		slices.Contains(holds, new[0]) && mayBecome(old, new[1:], holds)
}

// partlyFailing is an authorizer that returns an error for some verbs.
type partlyFailing struct {
	allows []string
	fails  []string
}

func (f partlyFailing) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	var err error
	for i, v := range verbs {
		if slices.Contains(f.fails, v) {
			err = errors.New("no answer")
		}
		if slices.Contains(f.allows, v) {
			return i, err
		}
	}
	return -1, err
}

func TestValuesThatAreNotAnswered(t *testing.T) {
	w := valuesWalker(t)
	set, err := w.Compare(change.All, parsed(t, "spec: {image: a.example/x}"), parsed(t, "spec: {image: b.example/x}"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := "granular:imageFrom(a.example)", "granular:imageFrom(b.example/x)"
	for _, test := range []struct {
		name          string
		allows, fails []string
		refused, err  bool
	}{
		{name: "a general verb fails and values are covered", allows: []string{a, b},
			fails: []string{"granular:specification"}},
		{name: "a general verb fails and a value is not covered", allows: []string{a},
			fails: []string{"granular:specification"}, err: true},
		{name: "a value fails", allows: []string{a}, fails: []string{b}, err: true},
		{name: "a value fails that another verb covers", allows: []string{a, b},
			fails: []string{"granular:imageFrom(b.example)"}},
		{name: "nothing fails", allows: []string{a}, refused: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			refusal, err := New(partlyFailing{test.allows, test.fails}, 0).Decide(context.Background(), set, true)
			if (err != nil) != test.err || (refusal != nil) != test.refused {
				t.Errorf("got %v, %v", refusal, err)
			}
		})
	}
}

// TestValuesAreWithheld checks that a refusal for a caller who may not read the object does not
// depend on a value.
func TestValuesAreWithheld(t *testing.T) {
	w := valuesWalker(t)
	for _, test := range []struct{ old, new, holds, needs string }{
		{"spec: {image: secret.example/app}", "spec: {image: a.example/app}", "imageFrom(a.example)",
			`needs one of the verbs "granular:image", "granular:specification"`},
		{"spec: {mode: secret}", "spec: {mode: b}", "mode(b)",
			"the needed permission is shown only to callers who may get the object"},
		{"spec: {mode: secret}", "spec: {mode: " + strings.Repeat("b", 1000) + "}", "mode(b)",
			"the needed permission is shown only to callers who may get the object"},
		{"spec: {mode: bad}", "spec: {mode: b}", "mode(b)",
			"the needed permission is shown only to callers who may get the object"},
	} {
		set, err := w.Compare(change.All, parsed(t, test.old), parsed(t, test.new))
		if err != nil {
			t.Fatal(err)
		}
		if _, all := w.Sender(func(string) bool { return true }, nil).Knows(&set[0]); all {
			t.Errorf("%s: the verbs are told to a sender who may not read", test.old)
		}
		refusal := decideWith(t, set, true, []string{"granular:" + test.holds})
		for known := range 4 {
			told := refusal.Withhold(known)
			if message := told.Message(""); strings.Contains(message, "secret") || strings.Contains(message, "bbb") {
				t.Errorf("%s: told with %d known: %s", test.old, known, message)
			}
			if known >= 2 && told.Needs() != test.needs {
				t.Errorf("%s: needs %s", test.old, told.Needs())
			}
		}
	}
}

// impossible returns an index beyond the asked verbs, if these have a parameter that begins with it.
type impossible string

func (i impossible) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	if strings.Contains(verbs[0], "("+string(i)) {
		return len(verbs), nil
	}
	return -1, nil
}

// TestImpossibleAnswersAboutValues checks that an impossible answer is an error also if it is about
// a value that is asked for only to complete the refusal.
func TestImpossibleAnswersAboutValues(t *testing.T) {
	set, err := valuesWalker(t).Compare(change.All, parsed(t, "spec: {image: a.example/x}"), parsed(t, "spec: {image: b.example/x}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []impossible{"", "a.example", "b.example"} {
		if refusal, err := New(value, 0).Decide(t.Context(), set, true); refusal != nil || err == nil {
			t.Errorf("about %q: got %v, %v", value, refusal, err)
		}
	}
}

// TestValuesAreAskedOnce checks that a retry does not ask for the same verbs again.
func TestValuesAreAskedOnce(t *testing.T) {
	set, err := valuesWalker(t).Compare(change.All, parsed(t, "spec: {image: a.example/x}"), parsed(t, "spec: {image: b.example/x}"))
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{t: t, holds: []string{"granular:imageFrom(a.example)"}}
	d := New(h, 0)
	for range 3 {
		if refusal, err := d.Decide(t.Context(), set, true); refusal == nil || err != nil {
			t.Fatalf("got %v, %v", refusal, err)
		}
	}
	if h.calls != 3 { // the general verbs, the verbs of the old value, and the verbs of the new value
		t.Errorf("%d questions", h.calls)
	}
}

// TestOtherValuesCoverWhatIsNotAnswered checks that a verb without an answer does not prevent
// another permission from covering the change.
func TestOtherValuesCoverWhatIsNotAnswered(t *testing.T) {
	set, err := valuesWalker(t).Compare(change.All, parsed(t, "spec: {taints: [{key: a, level: x}]}"), parsed(t, "spec: {taints: [{key: a, level: z}]}"))
	if err != nil {
		t.Fatal(err)
	}
	asks := partlyFailing{[]string{"granular:level(x)", "granular:level(z)"}, []string{"granular:taint(a)"}}
	if refusal, err := New(asks, 0).Decide(t.Context(), set, true); refusal != nil || err != nil {
		t.Errorf("got %v, %v", refusal, err)
	}
	asks.allows = asks.allows[:1]
	if refusal, err := New(asks, 0).Decide(t.Context(), set, true); refusal != nil || err == nil {
		t.Errorf("without one of them: got %v, %v", refusal, err)
	}
}
