// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/granular/schema"
)

// onlyKey is a Keys that wants one key, and counts how often it is asked.
type onlyKey struct {
	key   string
	asked int
}

func (o *onlyKey) Wanted(_ schema.Attribute, key string) bool {
	o.asked++
	return key == o.key
}

// labelsAtDepth returns a value with a number of objects below a number of fields. Each object has
// the label env.
func labelsAtDepth(field string, depth, objects int) any {
	list := make([]any, objects)
	for i := range list {
		list[i] = map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": fmt.Sprint(i)}}}
	}
	var out any = list
	for range depth {
		out = map[string]any{field: out}
	}
	return out
}

// allocated returns the number of bytes that a function allocates.
func allocated(of func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	of()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestEmbeddedWorkIsLinear checks that the work of Embedded grows with the size of a value, and not
// with its size times its depth: a key is asked for once, and only labels of the result have a path.
func TestEmbeddedWorkIsLinear(t *testing.T) {
	const most = 8 << 20
	for _, size := range []struct{ depth, objects int }{{10, 100}, {9000, 100}, {9000, 4000}, {1, 50000}} {
		value := labelsAtDepth("a", size.depth, size.objects)
		for _, key := range []string{"env", "other"} {
			for name, sides := range map[string][2]any{"created": {nil, value}, "deleted": {value, nil}} {
				keys := &onlyKey{key: key}
				used := allocated(func() { Embedded(both, keys, Path{{Field: "data"}}, sides[0], sides[1]) })
				if keys.asked != size.objects {
					t.Errorf("%d labels at depth %d, %s: %d keys asked for", size.objects, size.depth, name, keys.asked)
				}
				if limit := uint64(most); used > limit {
					t.Errorf("%d labels at depth %d, %s, %s protected: %d bytes", size.objects, size.depth, name, key, used)
				} else if limit = uint64(512 * (size.depth + 8)); key == "other" && used > limit {
					t.Errorf("%d labels at depth %d, %s, none protected: %d bytes", size.objects, size.depth, name, used)
				}
			}
		}
	}
}

// TestEmbeddedBounds checks that labels and annotations within the bounds are in the result, and
// that beyond them one attribute stands for all.
func TestEmbeddedBounds(t *testing.T) {
	long, longest := strings.Repeat("a", 2000), strings.Repeat("a", maxEmbeddedNames-len("metadata")-len("labels"))
	for name, tc := range map[string]struct {
		value any
		// want is the number of attributes, or -1 if they are too large.
		want int
	}{
		"few":             {labelsAtDepth("a", 3, 5), 5},
		"as many as can":  {labelsAtDepth("a", 3, MaxEmbedded), MaxEmbedded},
		"too many":        {labelsAtDepth("a", 3, MaxEmbedded+1), -1},
		"as deep as can":  {labelsAtDepth("a", MaxEmbeddedDepth-3, 1), 1}, // the list, metadata and labels are steps too
		"too deep":        {labelsAtDepth("a", MaxEmbeddedDepth-2, 1), -1},
		"long names":      {labelsAtDepth(long, 2, 1), 1},
		"too long names":  {labelsAtDepth(long, 3, 1), -1},
		"as long as can":  {labelsAtDepth(longest, 1, 1), 1},
		"just too long":   {labelsAtDepth(longest+"a", 1, 1), -1},
		"deep with none":  {labelsAtDepth("a", 9000, 0), 0},
		"deep unreadable": {map[string]any{"a": labelsAtDepth("a", 500, 1)}, -1},
	} {
		for _, sides := range [][2]any{{nil, tc.value}, {tc.value, nil}, {tc.value, map[string]any{}}} {
			got := Embedded(both, nil, Path{{Field: "data"}}, sides[0], sides[1])
			if tc.want >= 0 {
				if len(got) != tc.want || len(got) > 0 && (got[0].Unreadable || got[0].TooLarge) {
					t.Errorf("%s: %d attributes", name, len(got))
				}
				continue
			}
			if diff := cmp.Diff([]string{"Label .data unreadable embedded"}, shownAttributes(got)); diff != "" || !got[0].TooLarge {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if got := Embedded(both, &onlyKey{key: "other"}, nil, nil, tc.value); len(got) != 0 {
			t.Errorf("%s, and no label is protected: %s", name, shownAttributes(got))
		}
		if got := Embedded(schema.Annotation, nil, nil, nil, tc.value); len(got) != 0 {
			t.Errorf("%s, and labels are not wanted: %s", name, shownAttributes(got))
		}
		if got := Embedded(both, nil, nil, tc.value, tc.value); len(got) != 0 {
			t.Errorf("%s, unchanged: %s", name, shownAttributes(got))
		}
	}
}

// TestEmbeddedTooLargeMeetsAll checks that what is too large on one side of an intersection stands
// for every attribute below its location on the other side.
func TestEmbeddedTooLargeMeetsAll(t *testing.T) {
	for _, at := range []Path{nil, {{Field: "data"}}} {
		few := Embedded(both, nil, at, nil, labelsAtDepth("a", 3, 1))
		many := Embedded(both, nil, at, nil, labelsAtDepth("a", 3, MaxEmbedded+1))
		for _, got := range []Attributes{IntersectAttributes(few, many), IntersectAttributes(many, few)} {
			if len(got) != 2 || !got[0].TooLarge || got[1].Key != "env" {
				t.Errorf("%s: %s", at, shownAttributes(got))
			}
		}
	}
}

// TestEmbeddedValues checks which values of a key count as different.
func TestEmbeddedValues(t *testing.T) {
	deep := map[string]any{"b": "c"}
	for name, tc := range map[string]struct {
		old, new any
		differs  bool
	}{
		"the same text":           {"a", "a", false},
		"another text":            {"a", "b", true},
		"the same number":         {int64(5), int64(5), false},
		"another number":          {int64(5), int64(6), true},
		"a number becomes a text": {int64(5), "5", true},
		"null becomes a number":   {nil, int64(5), true},
		"maps":                    {deep, deep, true},
		"lists":                   {[]any{"a"}, []any{"b"}, true},
	} {
		value := func(v any, beside string) any {
			return map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": v}}, "beside": beside}
		}
		if got := Embedded(both, nil, nil, value(tc.old, "a"), value(tc.new, "b")); (len(got) == 1) != tc.differs {
			t.Errorf("%s: %s", name, shownAttributes(got))
		}
	}
}
