// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got, err := parse("# Title\n\n```sh\nmake up\n```\n\n```yaml title=a.yaml\na: b\n```\n\n```console\n$ one \\\n  more\nout\n$ two\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{line: 7, file: "a.yaml", content: "a: b\n"},
		{line: 12, command: "one \\\n  more", want: []string{"out"}},
		{line: 15, command: "two"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
	for name, document := range map[string]string{
		"no end":            "```sh\nmake",
		"output first":      "```console\nout\n```\n",
		"an unreadable tag": "```yaml  title = x\n```\n",
	} {
		if _, err := parse(document); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMatches(t *testing.T) {
	for name, tc := range map[string]struct {
		got, want []string
		ok        bool
	}{
		"equal":             {[]string{"a", "b"}, []string{"a", "b"}, true},
		"missing line":      {[]string{"a"}, []string{"a", "b"}, false},
		"further line":      {[]string{"a", "b"}, []string{"a"}, false},
		"anything":          {[]string{"a", "b", "c"}, []string{"...", "c"}, true},
		"anything, nothing": {[]string{"c"}, []string{"...", "c"}, true},
		"anything, wrong":   {[]string{"a", "b"}, []string{"...", "c"}, false},
		"no output":         {nil, nil, true},
	} {
		if ok := matches(tc.got, tc.want); ok != tc.ok {
			t.Errorf("%s: %t", name, ok)
		}
	}
}
