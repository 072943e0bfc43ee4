// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		comment string
		want    []attack
		says    string
	}{
		"nothing":   {comment: "Lists: their order,\ntheir keys."},
		"an attack": {comment: "Attack: a\nAnswer: b", want: []attack{{attempt: "a", answer: "b"}}},
		"every field": {
			comment: "Prose.\n\nAttack: a key\nthat: looks like another\nAnswer: 403\nWas: got\nthrough\nHeld by: TestA, attack_b,\nc.TestC\n\nProse.",
			want:    []attack{{attempt: "a key that: looks like another", answer: "403", was: "got through", heldBy: []string{"TestA", "attack_b", "c.TestC"}}},
		},
		"two, with and without a line between": {
			comment: "Attack: a\nAnswer: b\nAttack: c\nAnswer: d\n\nAttack: e\nAnswer: f",
			want:    []attack{{attempt: "a", answer: "b"}, {attempt: "c", answer: "d"}, {attempt: "e", answer: "f"}},
		},
		"no answer": {comment: "Attack: a", says: `attack "a": the field Answer is missing`},
		"no answer, then more": {comment: "Attack: a\n\nAttack: b\nAnswer: c",
			says: `attack "a": the field Answer is missing`},
		"an empty answer":  {comment: "Attack: a\nAnswer:", says: `attack "a": "Answer" is empty`},
		"an empty attempt": {comment: "Attack:\nAnswer: b", says: `attack "": "Attack" is empty`},
		"an unknown field": {comment: "Attack: a\nAnser: b", says: `attack "a": unknown field "Anser"`},
		"a field twice": {comment: "Attack: a\nAnswer: b\nAnswer: c",
			says: `attack "a": the field "Answer" is duplicate`},
		"a field of none": {comment: "Atack: a\nAnswer: b", says: `"Answer: b" belongs to no attack`},
		"an empty name": {comment: "Attack: a\nAnswer: b\nHeld by: TestA,",
			says: `attack "a": an empty name in "TestA,"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parse(strings.Split(tc.comment, "\n"))
			if tc.says != "" {
				if err == nil || err.Error() != tc.says {
					t.Fatalf("the error is %v, want %s", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(attack{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParagraph(t *testing.T) {
	for comment, want := range map[string]string{
		" One,\n two.\n\n Three.": "One, two.",
		" One.\n Attack: a":       "One.",
		" Attack: a\n Answer: b":  "",
	} {
		if got := firstParagraph(strings.Split(comment, "\n")); got != want {
			t.Errorf("%q: %q, want %q", comment, got, want)
		}
	}
}
