// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/granular/decide"
)

// TestVerbsOfARefusal checks which missing verbs a refusal keeps for the audit log: the most general one and the
// most specific one, or those that are needed together.
func TestVerbsOfARefusal(t *testing.T) {
	const a, b, all = "granular:label(a)", "granular:label(b)", "granular:labels"
	for name, tc := range map[string]struct {
		refusal decide.Refusal
		want    []string
	}{
		"none":                        {decide.Refusal{}, nil},
		"one":                         {decide.Refusal{General: a, Specific: a}, []string{a}},
		"a general one alone":         {decide.Refusal{General: all}, []string{all}},
		"two":                         {decide.Refusal{General: all, Specific: a}, []string{a, all}},
		"two together":                {decide.Refusal{General: all, Specific: a, Together: []string{a, b}}, []string{a + "&" + b, all}},
		"two together and no other":   {decide.Refusal{General: a, Specific: a, Together: []string{a, b}}, []string{a + "&" + b}},
		"one of two values, together": {decide.Refusal{General: a, Specific: b, Together: []string{a}}, []string{a}},
	} {
		model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
		ctx := requestContext("update")
		w := New(&grants{}).Begin(ctx, model).(*write)
		changes, err := w.kind.compare(model, w.mode(), object(t, trigger), object(t, plain))
		if err != nil || len(changes) != 1 {
			t.Fatal(changes, err)
		}
		tc.refusal.Change = changes[0]
		err = w.refusedIn(ctx, w.written(), &tc.refusal, object(t, trigger), object(t, plain))
		judged(t, err, nil, "cannot change .spec.trigger")
		if !slices.Equal(w.missing, tc.want) {
			t.Errorf("%s: missing %q, want %q", name, w.missing, tc.want)
		}
	}
}
