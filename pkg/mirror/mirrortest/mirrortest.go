// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirrortest has the one table of reports for all indexes that use package mirror: what an
// index has after requests and the watch reported changes, in any order.
//
// The invariant: each user of package mirror passes the same table.
//
// Only tests import the package.
package mirrortest

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"
)

// Index is an index under test. T is the type of its objects.
type Index[T any] struct {
	// New returns an object of a name and a resource version, which can be invalid. Two objects have
	// the same UID if they have the same name.
	New func(name, version string) T
	// Observe reports what a request has stored or removed.
	Observe func(object T, gone bool)
	Watch   cache.ReflectorStore
	// HasSynced reports whether the index counts as complete.
	HasSynced func() bool
	// Held returns what the index has: NAME@VERSION of each object, in any order.
	Held func() []string
}

// table has the reports and what an index has after them:
//
//	stored a@5, removed a@6    requests to this server
//	watched a@5, gone a@6      events of the watch
//	bookmark 9                 the watch has reported all up to this version
//	list 9 a@5 b@6             all that was stored at this version
//	refused …                  the same, and the watch gets an error
var table = []struct{ name, reports, want string }{
	// Of two changes, the newer one counts.
	{"stored", "stored a@5", "a@5"},
	{"two", "stored a@5, stored b@6", "a@5 b@6"},
	{"newer", "stored a@5, stored a@7", "a@7"},
	{"older", "stored a@5, stored a@4", "a@5"},
	{"the same", "stored a@5, stored a@5", "a@5"},
	{"a version is a number", "stored a@9, stored a@10", "a@10"},
	{"watched", "watched a@5, watched a@6", "a@6"},
	{"watched as it was stored", "stored a@5, watched a@5", "a@5"},
	{"watched, older than stored", "stored a@7, watched a@6", "a@7"},
	{"watched, and gone", "watched a@5, gone a@6", ""},
	{"gone, with the version of the object", "watched a@5, gone a@5", ""},
	{"gone, and created again before by a request", "watched a@5, stored a@7, gone a@6", "a@7"},

	// What was removed does not come back.
	{"removed", "stored a@5, removed a@6", ""},
	{"removed, with the version of the object", "stored a@5, removed a@5", ""},
	{"removed, older than what is known", "stored a@7, removed a@6", "a@7"},
	{"removed before anything was known, and watched", "removed a@6, watched a@4, watched a@5", ""},
	{"removed, and reported late", "removed a@6, stored a@5", ""},
	{"removed, and reported late with the same version", "removed a@6, stored a@6", ""},
	{"removed twice, and watched", "removed a@6, removed a@5, watched a@5", ""},
	{"removed, and watched up to the removal", "stored a@5, removed a@6, watched a@5, gone a@6", ""},
	{"removed, watched, and reported late", "removed a@6, gone a@6, stored a@5", ""},
	{"gone, and reported late", "watched a@5, gone a@6, stored a@5", ""},
	{"gone, and the removal reported late", "watched a@5, gone a@6, removed a@6, stored a@5", ""},
	{"created again", "removed a@6, stored a@7", "a@7"},
	{"created again by another server", "removed a@6, gone a@6, watched a@7", "a@7"},
	{"created again, and an older removal", "removed a@6, stored a@7, gone a@6", "a@7"},

	// The watch has reported all up to some version.
	{"as old as an event", "watched b@9, stored a@9", "b@9"},
	{"newer than an event", "watched b@9, stored a@10", "a@10 b@9"},
	{"as old as a removal", "gone b@9, stored a@9", ""},
	{"as old as a bookmark", "bookmark 9, stored a@9", ""},
	{"newer than a bookmark", "bookmark 9, stored a@10", "a@10"},
	{"an older bookmark", "bookmark 9, bookmark 3, stored a@5", ""},
	{"an older removal", "gone b@9, gone c@3, stored a@5", ""},
	{"older than a bookmark, but newer than known", "stored a@5, bookmark 9, stored a@8", "a@8"},
	{"removed, older than a bookmark", "stored a@5, bookmark 9, removed a@8, stored a@7", ""},

	// A list is all that was stored at its version.
	{"an empty list", "list 9", ""},
	{"listed", "list 9 a@5 b@6", "a@5 b@6"},
	{"not listed", "stored a@5, list 9", ""},
	{"not listed, with the version of the list", "stored a@9, list 9", ""},
	{"stored after the list", "stored a@10, list 9", "a@10"},
	{"listed, and changed after the list", "stored a@10, list 9 a@5", "a@10"},
	{"listed older than known", "stored a@7, list 9 a@5", "a@5"},
	{"listed, and removed after the list", "removed a@10, list 9 a@5", ""},
	{"removed after the list, and watched", "removed a@10, list 9 a@5, watched a@9, gone a@10", ""},
	{"removed before the list", "removed a@6, list 9 a@8", "a@8"},
	{"as old as a list", "list 9, stored a@9", ""},
	{"a gap of the watch", "list 5 a@3 b@4, stored c@6, stored d@11, list 10 a@8 c@6", "a@8 c@6 d@11"},

	// Storage was restored from a backup: a list is older than what the watch had reached.
	{"gone by a restore", "list 5 a@3, watched b@22, list 6 a@3", "a@3"},
	{"older by a restore", "watched a@9, list 5 a@4", "a@4"},
	{"reported late after a restore", "bookmark 9, list 3, stored a@5", ""},
	{"watched after a restore", "bookmark 9, list 3, watched a@4", "a@4"},
	{"not reached before a restore", "bookmark 9, stored a@10, list 3", "a@10"},

	// What has no valid version or is another object.
	{"stored without a version", "stored a@, stored b@x, stored c@0, stored d@-1", ""},
	{"removed without a version", "stored a@5, removed a@, removed a@x, removed a@0", "a@5"},
	{"watched without a version", "refused watched a@, refused watched a@x, refused watched a@0", ""},
	{"gone without a version", "list 9 a@5, refused gone a@", "a@5"},
	{"listed without a version", "list 9 a@5 b@6, refused list 10 b@7 c@", "a@5 b@6"},
	{"listed first without a version", "refused list 9 a@5 b@", ""},
	{"a list without a version", "refused list x a@5", ""},
	{"a bookmark without a version", "refused bookmark x, stored a@5", "a@5"},
	{"another object", "refused watched another, refused gone another, refused list 9 another", ""},
}

// Run tests indexes that open returns, which are empty.
func Run[T any](t *testing.T, open func() Index[T]) {
	for _, row := range table {
		x, synced := open(), false
		for report := range strings.SplitSeq(row.reports, ", ") {
			report, refused := strings.CutPrefix(report, "refused ")
			if err := x.apply(report); (err != nil) != refused {
				t.Errorf("%s: %s: %v", row.name, report, err)
			}
			synced = synced || strings.HasPrefix(report, "list") && !refused
			if x.HasSynced() != synced {
				t.Errorf("%s: after %s synced: %t", row.name, report, !synced)
			}
		}
		held := x.Held()
		slices.Sort(held)
		if got := strings.Join(held, " "); got != row.want {
			t.Errorf("%s: %s: got %q, want %q", row.name, row.reports, got, row.want)
		}
	}
}

func (x Index[T]) apply(report string) error {
	words := strings.Fields(report)
	switch what := words[1]; words[0] {
	case "stored", "removed":
		x.Observe(x.object(what).(T), words[0] == "removed")
		return nil
	case "watched":
		// The watch can report the first version that the reflector sees as an update.
		if len(x.Held()) > 0 {
			return x.Watch.Update(x.object(what))
		}
		return x.Watch.Add(x.object(what))
	case "gone":
		return x.Watch.Delete(x.object(what))
	case "bookmark":
		return x.Watch.(cache.ReflectorBookmarkStore).Bookmark(what)
	case "list":
		var list []any
		for _, word := range words[2:] {
			list = append(list, x.object(word))
		}
		return x.Watch.Replace(list, what)
	}
	panic("unknown report " + report)
}

func (x Index[T]) object(text string) any {
	name, version, valid := strings.Cut(text, "@")
	if !valid {
		return struct{}{}
	}
	return x.New(name, version)
}
