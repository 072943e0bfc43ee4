// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package terms_test

import (
	"slices"
	"testing"
	"time"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/terms"
)

// noon is the time of most tests.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func entry(name, until string) v1alpha1.Subject {
	return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: name, Until: until}
}

// TestInForce checks which entries of a list are in force at noon.
//
// Attack: an entry has an end of long ago, in another zone, far away, or one that can't be read
// Answer: it is in force before that moment and not after it, whatever the zone; what can't be read has ended
func TestInForce(t *testing.T) {
	for name, tc := range map[string]struct {
		list []v1alpha1.Subject
		want []v1alpha1.Subject
	}{
		"nobody":                {},
		"no end":                {[]v1alpha1.Subject{{Name: "ada"}}, []v1alpha1.Subject{entry("ada", "")}},
		"a second later":        {[]v1alpha1.Subject{entry("ada", "2026-11-27T12:00:01Z")}, []v1alpha1.Subject{entry("ada", "2026-11-27T12:00:01Z")}},
		"the very moment":       {[]v1alpha1.Subject{entry("ada", "2026-11-27T12:00:00Z")}, nil},
		"a second before":       {[]v1alpha1.Subject{entry("ada", "2026-11-27T11:59:59Z")}, nil},
		"later in another zone": {[]v1alpha1.Subject{entry("ada", "2026-11-27T07:00:01-05:00")}, []v1alpha1.Subject{entry("ada", "2026-11-27T07:00:01-05:00")}},
		"looks later, is not":   {[]v1alpha1.Subject{entry("ada", "2026-11-27T17:00:00+05:00")}, nil},
		"zero":                  {[]v1alpha1.Subject{entry("ada", "0001-01-01T00:00:00Z")}, nil},
		"the year 0":            {[]v1alpha1.Subject{entry("ada", "0000-01-01T00:00:00Z")}, nil},
		"far away":              {[]v1alpha1.Subject{entry("ada", "9999-12-31T23:59:59Z")}, []v1alpha1.Subject{entry("ada", "9999-12-31T23:59:59Z")}},
		"no time":               {[]v1alpha1.Subject{entry("ada", "tomorrow"), entry("bob", "2026-11-27"), entry("cid", "2027-02-30T00:00:00Z")}, nil},
		"no zone":               {[]v1alpha1.Subject{entry("ada", "2027-11-27T12:00:00")}, nil},
		"one of two": {[]v1alpha1.Subject{entry("ada", "2026-11-27T11:00:00Z"), entry("bob", "2026-11-27T13:00:00Z")},
			[]v1alpha1.Subject{entry("bob", "2026-11-27T13:00:00Z")}},
		"the later of two": {[]v1alpha1.Subject{entry("ada", "2026-11-27T13:00:00Z"), {Name: "ada", Until: "2026-11-27T12:30:00-05:00"}},
			[]v1alpha1.Subject{entry("ada", "2026-11-27T12:30:00-05:00")}},
		"no end wins":      {[]v1alpha1.Subject{entry("ada", "2026-11-27T13:00:00Z"), {Name: "ada"}}, []v1alpha1.Subject{entry("ada", "")}},
		"no end is first":  {[]v1alpha1.Subject{entry("ada", ""), entry("ada", "2026-11-27T13:00:00Z")}, []v1alpha1.Subject{entry("ada", "")}},
		"ended and not":    {[]v1alpha1.Subject{entry("ada", "2026-11-27T11:00:00Z"), entry("ada", "2026-11-27T13:00:00Z")}, []v1alpha1.Subject{entry("ada", "2026-11-27T13:00:00Z")}},
		"another kind":     {[]v1alpha1.Subject{entry("ada", "2026-11-27T11:00:00Z"), {Kind: v1alpha1.GroupKind, Name: "ada"}}, []v1alpha1.Subject{{Kind: v1alpha1.GroupKind, Name: "ada"}}},
		"a second account": {[]v1alpha1.Subject{{Kind: v1alpha1.ServiceAccountKind, Namespace: "a", Name: "r", Until: "0001-01-01T00:00:00Z"}, {Kind: v1alpha1.ServiceAccountKind, Namespace: "b", Name: "r"}}, []v1alpha1.Subject{{Kind: v1alpha1.ServiceAccountKind, Namespace: "b", Name: "r"}}},
	} {
		if got := terms.InForce(tc.list, noon); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestNextEnd checks when a tenant must be looked at again, and whether its status is overdue.
func TestNextEnd(t *testing.T) {
	lns := &v1alpha1.LNamespace{Spec: v1alpha1.LNamespaceSpec{
		Users:    []v1alpha1.Subject{entry("ada", "2026-11-27T13:00:00Z"), entry("bob", "")},
		Managers: []v1alpha1.Subject{entry("mia", "2026-11-27T12:30:00Z"), entry("old", "2026-11-27T11:00:00Z")},
		Sudoers:  []v1alpha1.Subject{entry("bad", "never")},
	}}
	next, found := terms.NextEnd(lns, noon)
	if want := noon.Add(30 * time.Minute); !found || !next.Equal(want) {
		t.Errorf("the next end is %s, %t", next, found)
	}
	if _, found := terms.NextEnd(lns, noon.Add(time.Hour)); found {
		t.Error("something ends after the last end")
	}
	present := terms.Present(lns, nil, noon)
	lns.Status.Granted = v1alpha1.Granted{Users: []v1alpha1.Subject{entry("ada", ""), entry("bob", "")}, Managers: []v1alpha1.Subject{entry("mia", "")}}
	if len(present.Spec.Managers) != 1 || len(present.Spec.Sudoers) != 0 || len(lns.Spec.Managers) != 2 {
		t.Errorf("present: %+v", present.Spec)
	}
	for minutes, want := range map[int]bool{0: false, 29: false, 30: true, 60: true} {
		if got := terms.IsOverdue(lns, noon.Add(time.Duration(minutes)*time.Minute)); got != want {
			t.Errorf("overdue after %d minutes: %t", minutes, got)
		}
	}
}

// TestHasEnds checks in which tenants something ends: without that, no tenant is overdue.
func TestHasEnds(t *testing.T) {
	forever, ending := entry("ada", ""), entry("ada", "2026-11-27T13:00:00Z")
	for name, tc := range map[string]struct {
		change func(*v1alpha1.LNamespace)
		want   bool
	}{
		"nobody":         {func(*v1alpha1.LNamespace) {}, false},
		"without an end": {func(l *v1alpha1.LNamespace) { l.Spec.Users = []v1alpha1.Subject{forever} }, false},
		"a user":         {func(l *v1alpha1.LNamespace) { l.Spec.Users = []v1alpha1.Subject{forever, ending} }, true},
		"a manager":      {func(l *v1alpha1.LNamespace) { l.Spec.Managers = []v1alpha1.Subject{ending} }, true},
		"a sudoer":       {func(l *v1alpha1.LNamespace) { l.Spec.Sudoers = []v1alpha1.Subject{ending} }, true},
		"no time":        {func(l *v1alpha1.LNamespace) { l.Spec.Users = []v1alpha1.Subject{entry("bad", "never")} }, true},
		"granted sudo":   {func(l *v1alpha1.LNamespace) { l.Status.Sudo = []v1alpha1.GrantedSudo{{Subject: ending}} }, true},
	} {
		lns := &v1alpha1.LNamespace{}
		tc.change(lns)
		if got := terms.HasEnds(lns); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
