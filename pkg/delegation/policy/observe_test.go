// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/mirror/mirrortest"
)

// TestReports holds that the index has what every user of package mirror has.
func TestReports(t *testing.T) {
	mirrortest.Run(t, func() mirrortest.Index[*authority.AuthorityDelegationPolicy] {
		x := policy.NewIndex()
		return mirrortest.Index[*authority.AuthorityDelegationPolicy]{
			New: func(name, version string) *authority.AuthorityDelegationPolicy {
				p := stored(name, 0)
				p.ResourceVersion = version
				return (*authority.AuthorityDelegationPolicy)(p)
			},
			Observe: func(p *authority.AuthorityDelegationPolicy, gone bool) {
				x.Observe((*v1alpha1.AuthorityDelegationPolicy)(p), gone)
			},
			Watch: x.ReflectorStore(),
			HasSynced: func() bool {
				select {
				case <-x.Synced():
					return true
				default:
					return false
				}
			},
			Held: func() (held []string) {
				for _, p := range x.For(pods) {
					held = append(held, p.Name+"@"+p.ResourceVersion)
				}
				return held
			},
		}
	})
}

// TestObserve holds what the index has after changes that requests to this server and the watch
// report in any order.
func TestObserve(t *testing.T) {
	type step = func(x *policy.Index, watch cache.ReflectorStore) error
	version := func(name, uid string, version int) *v1alpha1.AuthorityDelegationPolicy {
		p := stored(name, version)
		p.UID = types.UID(uid)
		return p
	}
	report := func(name, uid string, v int, gone bool) step {
		return func(x *policy.Index, _ cache.ReflectorStore) error {
			x.Observe(version(name, uid, v), gone)
			return nil
		}
	}
	watched := func(name, uid string, v int) *authority.AuthorityDelegationPolicy {
		return (*authority.AuthorityDelegationPolicy)(version(name, uid, v))
	}
	added := func(name, uid string, v int) step {
		return func(_ *policy.Index, watch cache.ReflectorStore) error { return watch.Add(watched(name, uid, v)) }
	}
	deleted := func(name, uid string, v int) step {
		return func(_ *policy.Index, watch cache.ReflectorStore) error { return watch.Delete(watched(name, uid, v)) }
	}
	listed := func(v string, list ...any) step {
		return func(_ *policy.Index, watch cache.ReflectorStore) error { return watch.Replace(list, v) }
	}
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"stored":                           {[]step{report("a", "1", 5, false)}, "a@5"},
		"stored, newer":                    {[]step{report("a", "1", 5, false), report("a", "1", 6, false)}, "a@6"},
		"stored, older":                    {[]step{report("a", "1", 5, false), report("a", "1", 4, false)}, "a@5"},
		"two, by name":                     {[]step{report("b", "2", 5, false), report("a", "1", 6, false)}, "a@6 b@5"},
		"removed":                          {[]step{report("a", "1", 5, false), report("a", "1", 6, true)}, ""},
		"removed, then seen late":          {[]step{report("a", "1", 6, true), added("a", "1", 5)}, ""},
		"removed, then listed late":        {[]step{report("a", "1", 6, true), listed("5", watched("a", "1", 5))}, ""},
		"removed, and the watch":           {[]step{report("a", "1", 6, true), deleted("a", "1", 6), added("a", "1", 7)}, "a@7"},
		"removed, and listed since":        {[]step{report("a", "1", 6, true), listed("6"), added("a", "1", 7)}, "a@7"},
		"removed, and listed before":       {[]step{report("a", "1", 6, true), listed("5"), added("a", "1", 5)}, ""},
		"made again":                       {[]step{report("a", "1", 6, true), report("a", "2", 7, false)}, "a@7"},
		"watched, and gone":                {[]step{added("a", "1", 5), deleted("a", "1", 6)}, ""},
		"listed":                           {[]step{listed("9", watched("a", "1", 5), watched("b", "2", 6))}, "a@5 b@6"},
		"listed, older than what is known": {[]step{report("a", "1", 7, false), listed("6", watched("a", "1", 5))}, "a@7"},
		"not listed any more":              {[]step{report("a", "1", 5, false), listed("9")}, ""},
		"not listed, at its very version":  {[]step{report("a", "1", 9, false), listed("9")}, ""},
		"not listed yet":                   {[]step{report("a", "1", 10, false), listed("9")}, "a@10"},
	} {
		x := policy.NewIndex()
		watch := x.ReflectorStore()
		for i, step := range tc.steps {
			if err := step(x, watch); err != nil {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
		var got []string
		for _, p := range x.For(pods) {
			got = append(got, fmt.Sprint(p.Name, "@", p.ResourceVersion))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
		if x.Empty() != (tc.want == "") || slices.Contains(x.Resources(), pods) != (tc.want != "") {
			t.Errorf("%s: empty: %v, resources %v", name, x.Empty(), x.Resources())
		}
	}
	x := policy.NewIndex()
	watch := x.ReflectorStore()
	for what, f := range map[string]func() error{
		"added":   func() error { return watch.Add("nothing") },
		"updated": func() error { return watch.Update("nothing") },
		"deleted": func() error { return watch.Delete("nothing") },
		"listed":  func() error { return watch.Replace([]any{"nothing"}, "1") },
	} {
		if err := f(); err == nil {
			t.Errorf("what is none was %s", what)
		}
	}
	select {
	case <-x.Synced():
		t.Error("a refused list counts")
	default:
	}
	if err := watch.Replace(nil, "1"); err != nil {
		t.Error(err)
	}
	<-x.Synced()
}
