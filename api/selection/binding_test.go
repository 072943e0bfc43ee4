// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selection

import (
	"strings"
	"testing"
)

// TestParseBinding checks that a value names exactly one delegation by name and UID, and that Text and
// ParseBinding agree.
func TestParseBinding(t *testing.T) {
	want := Binding{Name: "d", UID: "u-1"}
	text, err := want.Text()
	if err != nil || text != `{"name":"d","uid":"u-1"}` {
		t.Fatal(text, err)
	}
	if got, err := ParseBinding(text); got != want || err != nil {
		t.Error(got, err)
	}
	if s, err := want.Selected().Text(); s != `{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"u-1"}}` || err != nil {
		t.Error(s, err)
	}
	for text, says := range map[string]string{
		``:                                   "unexpected end",
		`d`:                                  "invalid character",
		`null`:                               "missing",
		`{}`:                                 "missing",
		`{"name":"d"}`:                       "missing",
		`{"uid":"u"}`:                        "missing",
		`{"name":"d","uid":"u","use":"All"}`: "unknown field",
		`{"name":"d","Uid":"u"}`:             "unknown field",
		`{"name":"d","uid":"u","uid":"v"}`:   "duplicate field",
		`{"name":"a/b","uid":"u"}`:           "not a valid name",
		`{"name":"d","uid":"\u0000"}`:        "not a valid UID",
		`{"name":"` + strings.Repeat("d", MaxLength) + `","uid":"u"}`: "longer than",
	} {
		if got, err := ParseBinding(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, error %v, wanted one with %q", text, got, err, says)
		}
	}
}
