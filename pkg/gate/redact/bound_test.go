// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// FuzzHead checks that Head cuts only between characters, and not much before the limit.
func FuzzHead(f *testing.F) {
	f.Add("a€b", 2)
	f.Add("as long as it may be€", 20)
	f.Add("ab", 2)
	f.Add("\x80 begins no character", 0)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(0, limit%100)
		got := Head(s, limit)
		rest, cut := strings.CutSuffix(got, Ellipsis)
		if len(s) <= limit {
			if got != s {
				t.Errorf("%q is cut to %q", s, got)
			}
			return
		}
		if !cut || len(rest) > limit || !strings.HasPrefix(s, rest) || utf8.ValidString(s) && (!utf8.ValidString(rest) || len(rest)+utf8.UTFMax <= limit) {
			t.Errorf("%q to %d bytes is %q", s, limit, got)
		}
	})
}

// TestSizeOf checks that the size of an error is the size of its JSON, as it is sent.
func TestSizeOf(t *testing.T) {
	err := apierrors.NewBadRequest("a \"quoted\" name")
	sent, failed := json.Marshal(err.Status())
	if failed != nil {
		t.Fatal(failed)
	}
	if got := SizeOf(err); got != len(sent) {
		t.Errorf("%d bytes, sent are %d", got, len(sent))
	}
}

// TestLogged checks that Logged returns a short error unchanged, and the beginning of a long one.
func TestLogged(t *testing.T) {
	for _, length := range []int{1, MaxRefusal, MaxRefusal + 1, 3 * MaxRefusal} {
		err := errors.New(strings.Repeat("x", length))
		got := Logged(err)
		if length <= MaxRefusal {
			if !errors.Is(got, err) {
				t.Errorf("an error of %d bytes becomes %v", length, got)
			}
			continue
		}
		if got == nil || got.Error() != strings.Repeat("x", MaxRefusal)+Ellipsis {
			t.Errorf("an error of %d bytes becomes %v", length, got)
		}
	}
}
