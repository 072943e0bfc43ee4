// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"strings"
	"testing"

	"kube-granular.dev/granular/permission"
)

// computed stands for any expression. It must not be evaluated.
type computed struct{ Expression }

// TestShares checks that two permissions share a parameter only if both have one, made in the same way from the same key.
func TestShares(t *testing.T) {
	same := Parameter{SourceDepth: 2, SourceKey: 1, Treatment: permission.SlashDelimitedPrefix}
	with := func(change func(*Parameter)) *Permission {
		p := same
		change(&p)
		return &Permission{Parameter: &p}
	}
	mine := with(func(*Parameter) {})
	for name, tc := range map[string]struct {
		other *Permission
		want  bool
	}{
		"the same":           {with(func(*Parameter) {}), true},
		"the same, verbatim": {with(func(p *Parameter) { p.Treatment = permission.Verbatim }), false},
		"none":               {&Permission{}, false},
		"of another depth":   {with(func(p *Parameter) { p.SourceDepth = 3 }), false},
		"of another key":     {with(func(p *Parameter) { p.SourceKey = 0 }), false},
		"of a value":         {with(func(p *Parameter) { p.FromValue = true }), false},
		"computed":           {with(func(p *Parameter) { p.Expression = computed{} }), false},
	} {
		if mine.Shares(tc.other) != tc.want || tc.other.Shares(mine) != tc.want {
			t.Errorf("%s: %t, want %t", name, !tc.want, tc.want)
		}
	}
	both := func(change func(*Parameter)) bool { return with(change).Shares(with(change)) }
	if both(func(p *Parameter) { p.FromValue = true }) || both(func(p *Parameter) { p.Expression = computed{} }) || (&Permission{}).Shares(&Permission{}) {
		t.Error("two values, two expressions or two permissions without a parameter are the same")
	}
}

// TestExactAndWider checks which permissions have a verb for one key alone, and which verb is for its domain.
func TestExactAndWider(t *testing.T) {
	prefix := &Parameter{Treatment: permission.SlashDelimitedPrefix}
	label := &Permission{Name: "label", Parameter: prefix}
	longest := strings.Repeat("a", permission.MaxParameterLength-1)
	for name, tc := range map[string]struct {
		p                *Permission
		key, exact, wide string
	}{
		"with a domain":       {label, "a.com/b", "a.com/b", "a.com"},
		"without a domain":    {label, "b", "/b", "b"},
		"of the most length":  {label, longest, "/" + longest, longest},
		"of just that length": {label, "a/" + longest[1:], "a/" + longest[1:], "a"},
		"too long":            {label, longest + "a/b", "", ""},
		"verbatim":            {&Permission{Name: "label", Parameter: &Parameter{}}, "a.com/b", "", ""},
		"excluded":            {&Permission{Name: "label", Parameter: prefix, Excluded: true}, "a.com/b", "", ""},
		"computed":            {&Permission{Name: "label", Parameter: &Parameter{Treatment: permission.SlashDelimitedPrefix, Expression: computed{}}}, "a.com/b", "", ""},
		"without a parameter": {&Permission{Name: "labels"}, "a.com/b", "", ""},
	} {
		exact, ok := tc.p.Exact(tc.key)
		if ok != (tc.exact != "") || exact.Parameter != tc.exact || exact.Parameterized != ok {
			t.Errorf("%s: the exact verb is %s, %t", name, exact, ok)
		}
		asked := permission.Verb{Permission: "label", Parameter: tc.exact, Parameterized: true}
		if tc.exact == "" {
			asked.Parameter = "a.com/b"
		}
		wide, ok := tc.p.Wider(asked)
		if name == "too long" {
			continue // no such verb is ever asked for
		}
		if ok != (tc.wide != "") || wide.Parameter != tc.wide || wide.Parameterized != ok {
			t.Errorf("%s: the wider verb of %s is %s, %t", name, asked, wide, ok)
		}
	}
	if wide, ok := label.Wider(permission.Verb{Permission: "label", Parameter: "a.com", Parameterized: true}); ok {
		t.Errorf("the verb of a domain is exact, and %s is wider", wide)
	}
}

// TestVerbsOfImages checks that the verb of an image is the most specific of its verbs, and that a text that is no image
// has none.
func TestVerbsOfImages(t *testing.T) {
	image := &Permission{Name: "imageFrom", Parameter: &Parameter{Treatment: permission.ImageRepositoryPrefix}}
	const name = "registry.example.com/team/app:1"
	all, err := image.Verbs(t.Context(), nil, name)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	if v, err := image.Verb(t.Context(), nil, name); err != nil || v != all[2] || v.Parameter != "registry.example.com/team/app" {
		t.Errorf("%s, %v, want the last of %v", v, err, all)
	}
	if v, err := image.Verb(t.Context(), nil, ""); !errors.Is(err, ErrNoParameter) || v != (permission.Verb{}) {
		t.Errorf("of no image: %s, %v", v, err)
	}
	if all, err := image.Verbs(t.Context(), nil, ""); !errors.Is(err, ErrNoParameter) || all != nil {
		t.Errorf("of no image: %v, %v", all, err)
	}
	plain := &Permission{Name: "label", Parameter: &Parameter{}}
	if v, err := plain.Verb(t.Context(), nil, "a/b"); err != nil || v.Parameter != "a/b" {
		t.Errorf("verbatim: %s, %v", v, err)
	}
	labels := &Permission{Name: "labels"}
	if all, err := labels.Verbs(t.Context(), nil, "a"); err != nil || len(all) != 1 || all[0] != (permission.Verb{Permission: "labels"}) {
		t.Errorf("without a parameter: %v, %v", all, err)
	}
}
