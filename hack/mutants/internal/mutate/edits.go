// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"bytes"
	"cmp"
	"slices"
)

// edit is one replacement in a source: it removes drop bytes at the offset at, and inserts text
// there.
type edit struct {
	at, drop int
	text     string
	// closes is true if the edit inserts the text after some code, and another edit inserts the
	// text before that code, such as ")" and "(". nesting is greater for edits that are inside
	// other edits. Both fields determine the order of edits at the same offset.
	closes  bool
	nesting int
}

// edits are the edits of one source. If two edits wrap the same code, the text of the edit that
// was added first is the outer text.
type edits struct {
	list []edit
}

func (e *edits) wrap(start, end int, before, after string) {
	nesting := len(e.list)
	e.list = append(e.list,
		edit{at: start, text: before, nesting: nesting},
		edit{at: end, text: after, nesting: nesting, closes: true})
}

func (e *edits) replace(offset int, old, text string) {
	e.list = append(e.list, edit{at: offset, drop: len(old), text: text, nesting: len(e.list)})
}

// apply returns the source with all edits applied.
func (e *edits) apply(src []byte) []byte {
	list := slices.Clone(e.list)
	slices.SortStableFunc(list, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.closes != b.closes:
			if a.closes {
				return -1
			}
			return 1
		case a.closes:
			return cmp.Compare(b.nesting, a.nesting)
		}
		return cmp.Compare(a.nesting, b.nesting)
	})
	var out bytes.Buffer
	last := 0
	for _, edit := range list {
		out.Write(src[last:edit.at])
		out.WriteString(edit.text)
		last = edit.at + edit.drop
	}
	out.Write(src[last:])
	return out.Bytes()
}
