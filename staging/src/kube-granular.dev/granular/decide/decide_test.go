// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/internal/testmodels"
)

// holder allows the verbs in holds, and fails the test if it is asked for a verb twice.
type holder struct {
	t     *testing.T
	holds []string
	asked map[string]bool
	calls int
}

func (h *holder) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	h.calls++
	for i, v := range verbs {
		if h.asked[v] {
			h.t.Errorf("%s is asked twice", v)
		}
		if h.asked == nil {
			h.asked = map[string]bool{}
		}
		h.asked[v] = true
		if slices.Contains(h.holds, v) {
			return i, nil
		}
	}
	return -1, nil
}

func changesOf(t *testing.T, group, version, kind string, mode change.Mode, old, new map[string]any) change.Set {
	t.Helper()
	tree, err := testmodels.Tree(group, version, kind)
	if err != nil {
		t.Fatal(err)
	}
	set, err := change.NewWalker(tree).Compare(mode, old, new)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

type object = map[string]any

func labels(n int) object {
	l := object{}
	for i := range n {
		l[fmt.Sprintf("domain%04d.com/x", i)] = "1"
	}
	return object{"metadata": object{"name": "a", "labels": l}}
}

func TestMemoryLastsForRetries(t *testing.T) {
	h := &holder{t: t, holds: []string{"granular:label(domain0000.com)", "granular:labels"}}
	d := New(h, 0)
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(3))
	for range 3 {
		refusal, err := d.Decide(context.Background(), set, true)
		if refusal != nil || err != nil {
			t.Fatal(refusal, err)
		}
	}
	if diff := cmp.Diff([]string{"granular:metadata", "granular:labels"}, d.Asked()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"granular:labels"}, d.Used()); diff != "" {
		t.Error(diff)
	}
	if h.calls != 1 {
		t.Errorf("%d calls", h.calls)
	}
}

func TestBudget(t *testing.T) {
	old, new := labels(0), labels(5000)
	set := changesOf(t, "apps", "v1", "Deployment", change.All, old, new)
	h := &holder{t: t}
	for i := range 5000 {
		h.holds = append(h.holds, fmt.Sprintf("granular:label(domain%04d.com)", i))
	}
	d := New(h, 0)
	refusal, err := d.Decide(context.Background(), set, true)
	if err != nil || refusal == nil {
		t.Fatal(refusal, err)
	}
	if len(d.Asked()) != DefaultBudget {
		t.Errorf("%d verbs asked", len(d.Asked()))
	}
	want := `cannot change .metadata.labels[domain0062.com/x]: more than 64 permissions would have to be checked for this request; hold the verb "granular:labels" instead`
	if got := refusal.Message(""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// For as many changes as the budget has room for, the narrow verbs suffice.
	d = New(&holder{t: t, holds: h.holds}, 0)
	if refusal, err := d.Decide(context.Background(), set[:62], true); refusal != nil || err != nil {
		t.Error(refusal, err)
	}
}

func TestBudgetInTheMiddleOfAChain(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	for budget := 1; budget <= 3; budget++ {
		d := New(&holder{t: t, holds: []string{"granular:label(domain0000.com)"}}, budget)
		refusal, err := d.Decide(context.Background(), set, true)
		if err != nil || (refusal == nil) != (budget == 3) {
			t.Errorf("budget %d: %v, %v", budget, refusal, err)
		}
		if refusal != nil && refusal.Reason != Budget {
			t.Errorf("budget %d: %s", budget, refusal.Reason)
		}
	}
}

func TestExcluded(t *testing.T) {
	old := object{"spec": object{"colour": "red", "guard": object{"mode": "a", "level": int64(1), "lock": "x"}}}
	all := []string{"granular:specification", "granular:guard", "granular:guardLevel", "granular:guardLock"}
	for _, test := range []struct {
		field    string
		new      any
		covering []string
	}{
		{"mode", "b", []string{"granular:guard"}},
		{"level", int64(2), []string{"granular:guard", "granular:guardLevel"}},
		{"lock", "y", []string{"granular:guard", "granular:guardLock"}},
	} {
		guard := object{"mode": "a", "level": int64(1), "lock": "x"}
		guard[test.field] = test.new
		new := object{"spec": object{"colour": "red", "guard": guard}}
		for _, marked := range []bool{true, false} {
			mode := change.ExcludedOnly
			if marked {
				mode = change.All
			}
			set := changesOf(t, "example.com", "v1", "Widget", mode, old, new)
			for _, verb := range all {
				refusal, err := New(&holder{t: t, holds: []string{verb}}, 0).Decide(context.Background(), set, marked)
				if err != nil {
					t.Fatal(err)
				}
				if want := slices.Contains(test.covering, verb); (refusal == nil) != want {
					t.Errorf("%s, marked %v: a holder of %s: %v", test.field, marked, verb, refusal)
				}
			}
		}
	}
}

func TestUnmarkedIsNotAskedForIncluded(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(3))
	d := New(&holder{t: t}, 0)
	if refusal, err := d.Decide(context.Background(), set, false); refusal != nil || err != nil || len(d.Asked()) > 0 {
		t.Error(refusal, err, d.Asked())
	}
}

func TestNoPermission(t *testing.T) {
	set := changesOf(t, "", "v1", "ConfigMap", change.All, object{}, object{"immutable": true})
	d := New(&holder{t: t, holds: []string{"granular"}}, 0)
	refusal, err := d.Decide(context.Background(), set, true)
	if err != nil || refusal == nil || refusal.Reason != NoPermission {
		t.Fatal(refusal, err)
	}
	if got, want := refusal.Message(""), "cannot change .immutable: no permission covers this field"; got != want {
		t.Errorf("got %s", got)
	}
}

// unsteady is a holder that returns an error for the verbs in fails.
type unsteady struct {
	holder
	fails []string
}

var errDown = errors.New("down")

func (u *unsteady) FirstAllowed(ctx context.Context, verbs []string) (int, error) {
	var failure error
	for i, verb := range verbs {
		if slices.Contains(u.fails, verb) {
			failure = errDown
		}
		if first, _ := u.holder.FirstAllowed(ctx, []string{verb}); first == 0 && !slices.Contains(u.fails, verb) {
			return i, failure
		}
	}
	return -1, failure
}

// TestUnanswered checks that a verb without an answer does not allow or refuse a change, does not
// prevent another verb from allowing it, and is not asked for again.
func TestUnanswered(t *testing.T) {
	const metadata, all, first, second = "granular:metadata", "granular:labels", "granular:label(domain0000.com)", "granular:label(domain0001.com)"
	const firstKey, secondKey = "granular:label(domain0000.com/x)", "granular:label(domain0001.com/x)"
	one := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	two := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(2))
	replicas := changesOf(t, "apps", "v1", "Deployment", change.All, object{"metadata": object{"name": "a"}}, object{"metadata": object{"name": "a"}, "spec": object{"replicas": int64(1)}})
	tests := map[string]struct {
		changes      change.Set
		holds, fails []string
		budget       int
		failed       bool
		refused      Reason
		asked        []string
	}{
		"a specific verb is allowed": {changes: one, holds: []string{first},
			fails: []string{metadata, all}, asked: []string{metadata, all, first}},
		"what fails is held": {changes: one, holds: []string{metadata},
			fails: []string{metadata}, failed: true, asked: []string{metadata, all, first, firstKey}},
		"none is allowed": {changes: one, fails: []string{metadata}, failed: true,
			asked: []string{metadata, all, first, firstKey}},
		"the specific verb fails": {changes: one, fails: []string{first}, failed: true,
			asked: []string{metadata, all, first, firstKey}},
		"the specific verb fails, the key's is allowed": {changes: one, holds: []string{firstKey},
			fails: []string{first}, asked: []string{metadata, all, first, firstKey}},
		"the key's verb fails": {changes: one, fails: []string{firstKey}, failed: true,
			asked: []string{metadata, all, first, firstKey}},
		"the budget ends before the key's verb": {changes: one, holds: []string{firstKey}, budget: 3,
			refused: Budget, asked: []string{metadata, all, first}},
		"the specific verb fails, it is not asked": {changes: one, holds: []string{all}, fails: []string{first},
			asked: []string{metadata, all}},
		"nothing fails": {changes: one, refused: NotCovered,
			asked: []string{metadata, all, first, firstKey}},
		"the second change is not covered": {changes: two, holds: []string{first},
			fails: []string{metadata}, failed: true, asked: []string{metadata, all, first, second, secondKey}},
		"the second change is covered": {changes: two, holds: []string{first, second},
			fails: []string{metadata}, asked: []string{metadata, all, first, second}},
		"what fails is of another change": {changes: append(slices.Clip(one), replicas...),
			holds: []string{first}, fails: []string{metadata}, refused: NotCovered,
			asked: []string{metadata, all, first, "granular:specification", "granular:replicas"}},
		"the budget ends at what fails": {changes: two, holds: []string{first},
			fails: []string{metadata}, budget: 3, failed: true, asked: []string{metadata, all, first}},
		"the budget counts what fails": {changes: one, holds: []string{first},
			fails: []string{metadata, all}, budget: 2, failed: true, asked: []string{metadata, all}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			u := &unsteady{holder: holder{t: t, holds: test.holds}, fails: test.fails}
			d := New(u, test.budget)
			for range 2 { // the storage may retry
				refusal, err := d.Decide(context.Background(), test.changes, true)
				if errors.Is(err, errDown) != test.failed || (err != nil) != test.failed {
					t.Errorf("an error: %v", err)
				}
				if (refusal != nil) != (test.refused != 0) || refusal != nil && refusal.Reason != test.refused {
					t.Errorf("refused: %+v", refusal)
				}
			}
			if diff := cmp.Diff(test.asked, d.Asked()); diff != "" {
				t.Error(diff)
			}
			for _, verb := range d.unanswered {
				if !slices.Contains(d.asked, verb) || slices.Contains(d.used, verb) {
					t.Errorf("%s is unanswered", verb)
				}
			}
			for _, used := range d.Used() {
				if !slices.Contains(test.holds, used) || slices.Contains(test.fails, used) {
					t.Errorf("%s covered a change", used)
				}
			}
		})
	}
}

type broken struct {
	index int
	err   error
}

func (b broken) FirstAllowed(context.Context, []string) (int, error) { return b.index, b.err }

func TestAuthorizerThatFails(t *testing.T) {
	set := changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1))
	down := errors.New("down")
	d := New(broken{index: 0, err: down}, 0)
	if refusal, err := d.Decide(context.Background(), set, true); !errors.Is(err, down) || refusal != nil {
		t.Error(refusal, err)
	}
	if _, err := New(broken{index: 9}, 0).Decide(context.Background(), set, true); err == nil {
		t.Error("an index beyond the question is taken")
	}
	refusal, err := New(broken{index: -7}, 0).Decide(context.Background(), set, true)
	if err != nil || refusal == nil {
		t.Error("a negative index is taken for an answer", refusal, err)
	}
	if got, want := refusal.Message(".x"), `cannot change .x: needs one of the verbs "granular:label(domain0000.com)", "granular:metadata"`; got != want {
		t.Errorf("got %s", got)
	}
}

func keyed(labels ...string) object {
	l := object{}
	for _, key := range labels {
		l[key] = "1"
	}
	return object{"metadata": object{"name": "a", "labels": l}}
}

// TestTooLong checks that a key that is too long for a verb is covered only by permissions without
// a parameter, and that the authorizer is not asked for such a verb.
func TestTooLong(t *testing.T) {
	long := strings.Repeat("ä", 400) + "/x"
	set := changesOf(t, "apps", "v1", "Deployment", change.All, keyed(), keyed(long))
	all := []string{"granular:metadata", "granular:labels"}
	for _, held := range append(all, "granular:label("+strings.Repeat("%C3%A4", 400)+")") {
		d := New(&holder{t: t, holds: []string{held}}, 0)
		refusal, err := d.Decide(context.Background(), set, true)
		if err != nil || (refusal == nil) != slices.Contains(all, held) {
			t.Errorf("who holds %.40s: %v, %v", held, refusal, err)
		}
		if diff := cmp.Diff(all[:len(d.Asked())], d.Asked()); diff != "" {
			t.Error(diff)
		}
		const want = `needs one of the verbs "granular:labels", "granular:metadata"; the parameter "%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4..." is longer than the 256 bytes that a verb may have`
		if refusal != nil && refusal.Needs() != want {
			t.Errorf("got %s", refusal.Needs())
		}
	}
	// If every permission takes the key as its parameter, none covers the key.
	const widget = `the parameter "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk..." is longer than the 256 bytes that a verb may have`
	if got := (&Refusal{Reason: NoParameter, tooLong: true, long: strings.Repeat("k", 64)}).Needs(); got != widget {
		t.Errorf("got %s", got)
	}
}

// TestWithhold checks that a withheld refusal does not depend on a key that the caller does not
// know, nor on how the refusal was decided.
func TestWithhold(t *testing.T) {
	refused := func(budget int, holds []string, labels ...string) *Refusal {
		t.Helper()
		set := changesOf(t, "apps", "v1", "Deployment", change.All, keyed(labels...), keyed())
		refusal, err := New(&holder{t: t, holds: holds}, budget).Decide(context.Background(), set, true)
		if err != nil || refusal == nil {
			t.Fatal(refusal, err)
		}
		return refusal
	}
	for name, refusal := range map[string]*Refusal{
		"one":                          refused(0, nil, "a.example/x"),
		"another":                      refused(0, nil, "b.example/x"),
		"the second":                   refused(0, []string{"granular:label(a.example)"}, "a.example/x", "b.example/x"),
		"over budget":                  refused(2, nil, "a.example/x"),
		"over budget, the second":      refused(3, []string{"granular:label(a.example)"}, "a.example/x", "b.example/x"),
		"too long":                     refused(0, nil, strings.Repeat("k", 300)),
		"too long, without any budget": refused(1, nil, strings.Repeat("k", 300)),
	} {
		const want = `cannot change .metadata.labels: needs one of the verbs "granular:labels", "granular:metadata"`
		if got := refusal.Withhold(2).Message(""); got != want {
			t.Errorf("%s: got %s", name, got)
		}
		if got := refusal.Withhold(1).Message(""); got != `cannot change .metadata: needs the verb "granular:metadata"` {
			t.Errorf("%s: got %s", name, got)
		}
		if got := refusal.Withhold(0).Message(""); got != `cannot change the object: the needed permission is shown only to callers who may get the object` {
			t.Errorf("%s: got %s", name, got)
		}
		if refusal.Withhold(3) != refusal {
			t.Errorf("%s: withheld from who knows all", name)
		}
	}
}

// TestWithholdUncovered checks that NoPermission remains the reason of a withheld refusal.
func TestWithholdUncovered(t *testing.T) {
	set, err := thingWalker(t, &priced{}).Compare(change.All, object{"other": "a"}, object{"other": "b"})
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := New(&holder{t: t}, 0).Decide(t.Context(), set, true)
	if err != nil || refusal == nil {
		t.Fatal(refusal, err)
	}
	if got := refusal.Withhold(0); got.Reason != NoPermission || got.Message("") != "cannot change the object: no permission covers this field" {
		t.Errorf("%s: %s", got.Reason, got.Message(""))
	}
}

// TestWithholdExcluded checks that a withheld refusal names no verb that would not cover the
// change.
func TestWithholdExcluded(t *testing.T) {
	door := func(alarm string) object {
		return object{"spec": object{"doors": []any{object{"floor": int64(1), "alarm": alarm}}}}
	}
	set := changesOf(t, "example.com", "v1", "Widget", change.All, door("a"), door("b"))
	refusal, err := New(&holder{t: t}, 0).Decide(context.Background(), set, true)
	if err != nil || refusal == nil {
		t.Fatal(refusal, err)
	}
	if got := refusal.Withhold(2); got.Reason != Withheld || got.General != "" || got.Specific != "" {
		t.Errorf("got %s", got.Message(""))
	}
}
