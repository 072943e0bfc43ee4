// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMissing checks which verbs a refusal names to programs, and that its message names the same to people.
func TestMissing(t *testing.T) {
	const label, labels, a, b = "granular:label(example.com)", "granular:labels", "granular:image(a)", "granular:image(b)"
	two, many := []string{a, b}, make([]string, maxTogether+1)
	for i := range many {
		many[i] = fmt.Sprintf("granular:image(%d)", i)
	}
	for name, tc := range map[string]struct {
		refusal         Refusal
		verbs, together []string
	}{
		"no permission":                    {refusal: Refusal{Reason: NoPermission}},
		"no parameter":                     {refusal: Refusal{Reason: NoParameter}},
		"one verb":                         {Refusal{Reason: NotCovered, General: labels, Specific: labels}, []string{labels}, nil},
		"a narrower and a wider verb":      {Refusal{Reason: NotCovered, General: labels, Specific: label}, []string{label, labels}, nil},
		"a cost, and nothing more general": {refusal: Refusal{Reason: Cost, Specific: label}},
		"a cost, and a narrower verb":      {Refusal{Reason: Cost, General: labels, Specific: label}, []string{labels}, nil},
		"too many permissions":             {Refusal{Reason: Budget, General: labels, Specific: a, Together: two}, []string{labels}, nil},
		"both of a value":                  {Refusal{Reason: NotCovered, General: a, Specific: a, Together: two}, []string{a}, two},
		"both of a value, or a wider verb": {
			Refusal{Reason: NotCovered, General: labels, Specific: a, Together: two}, []string{a, labels}, two,
		},
		"more together than a message has": {
			Refusal{Reason: NotCovered, General: labels, Together: many}, []string{many[0], labels}, many[:maxTogether],
		},
		"the wider verb is one of the rest": {
			Refusal{Reason: NotCovered, General: many[maxTogether], Together: many}, []string{many[0]}, many[:maxTogether],
		},
	} {
		t.Run(name, func(t *testing.T) {
			verbs, together := tc.refusal.Missing()
			if !slices.Equal(verbs, tc.verbs) || !slices.Equal(together, tc.together) {
				t.Errorf("verbs %q, together %q, wanted %q and %q", verbs, together, tc.verbs, tc.together)
			}
			for _, verb := range append(slices.Clone(verbs), together...) {
				if text := tc.refusal.Needs(); !strings.Contains(text, strconv.Quote(verb)) {
					t.Errorf("the message %q lacks %q", text, verb)
				}
			}
		})
	}
}
