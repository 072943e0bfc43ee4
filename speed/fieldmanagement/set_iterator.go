// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

// dropped is a field that was removed from both objects of an update, wholly or in part.
type dropped struct {
	name string
	// below are the removed fields inside this field. If below is empty, the whole field was
	// removed.
	below []dropped
}

// setIterator iterates over path elements of a set that are directly below the same element. It
// yields only elements whose fields were dropped wholly or in part; d has the dropped fields. If d
// is nil, it yields all elements.
type setIterator struct {
	*encodedSet
	at, end int32
	d       []dropped
}

func (f *encodedSet) iterate(d []dropped) setIterator {
	return setIterator{f, 0, int32(len(f.nodes)), d}
}

// into returns an iterator over the elements below an element.
func (w setIterator) into(n int32, d []dropped) setIterator {
	return setIterator{w.encodedSet, n + 1, w.nodes[n].after, d}
}

// next returns the index of the next element in nodes, and the dropped fields below the element.
// If below is nil, everything at and below the element belongs to the iteration, as for a field
// that was dropped as a whole.
func (w *setIterator) next() (n int32, below []dropped, ok bool) {
	for w.at < w.end {
		n, w.at = w.at, w.nodes[w.at].after
		if w.d == nil {
			return n, nil, true
		}
		here := w.encodedSet.dropped(n, &w.d)
		switch {
		case here == nil:
		case len(here.below) == 0:
			return n, nil, true
		default:
			inner := w.into(n, here.below)
			if _, _, ok := inner.next(); ok {
				return n, here.below, true
			}
		}
	}
	return 0, nil, false
}

// dropped returns the entry of d for an element, or nil if there is none. It also removes from d
// the entries that sort before the element: the set and d are both sorted, so later elements can't
// match them.
func (f *encodedSet) dropped(n int32, d *[]dropped) *dropped {
	key := f.key(int(n))
	if key[0] != 'f' {
		return nil
	}
	for len(*d) > 0 && (*d)[0].name < string(key[2:]) {
		*d = (*d)[1:]
	}
	if len(*d) > 0 && (*d)[0].name == string(key[2:]) {
		return &(*d)[0]
	}
	return nil
}

// compared returns the encoding of the set without the paths in the dropped fields d. Upstream
// works with this part only.
func (f *encodedSet) compared(d []dropped) []byte {
	out := append(make([]byte, 0, 512), '{')
	return append(f.without(out, f.iterate(nil), d), '}')
}

func (f *encodedSet) without(out []byte, w setIterator, d []dropped) []byte {
	for n, _, ok := w.next(); ok; n, _, ok = w.next() {
		here, e := f.dropped(n, &d), &f.nodes[n]
		switch {
		case here == nil:
			out = append(comma(out), f.raw[e.start-1:e.end]...)
		case len(here.below) > 0:
			before := len(out)
			out = f.open(comma(out), e)
			opened := len(out)
			if e.member {
				out = append(out, memberMark...)
			}
			bare := len(out)
			switch out = f.without(out, w.into(n, nil), here.below); {
			case len(out) > bare:
				out = append(out, '}')
			case e.member:
				out = append(out[:opened], '}')
			default:
				out = out[:before]
			}
		}
	}
	return out
}

// memberMark is written inside an element to show that the set contains the path of that
// element, and not only paths below it.
var memberMark = memberPrefix[:len(memberPrefix)-1]

// open appends an element and an opening brace.
func (f *encodedSet) open(out []byte, n *node) []byte {
	return append(append(out, f.raw[n.start-1:n.colon+1]...), ':', '{')
}

// comma appends a comma, unless the last character is an opening brace.
func comma(out []byte) []byte {
	if out[len(out)-1] == '{' {
		return out
	}
	return append(out, ',')
}

// union returns the encoding of the union of two sets, each limited to the elements of its
// iterator.
func union(a, b setIterator) []byte {
	out := append(make([]byte, 0, len(a.raw)+len(b.raw)), '{')
	return append(merge(out, a, b), '}')
}

func merge(out []byte, a, b setIterator) []byte {
	i, ofA, moreA := a.next()
	j, ofB, moreB := b.next()
	for moreA || moreB {
		order := 0
		switch {
		case !moreA:
			order = 1
		case !moreB:
			order = -1
		default:
			order = compareElements(a.key(int(i)), b.key(int(j)))
		}
		out = comma(out)
		switch {
		case order < 0:
			out = a.write(out, i, ofA)
		case order > 0:
			out = b.write(out, j, ofB)
		default:
			x, y := a.into(i, ofA), b.into(j, ofB)
			out = a.open(out, &a.nodes[i])
			// If only some fields below the element in b were dropped, the path of the element
			// itself belongs to the part that was not dropped, so only a decides about it.
			if (a.nodes[i].member || ofB == nil && b.nodes[j].member) && (x.at < x.end || y.at < y.end) {
				out = append(out, memberMark...)
			}
			out = append(merge(out, x, y), '}')
		}
		if order <= 0 {
			i, ofA, moreA = a.next()
		}
		if order >= 0 {
			j, ofB, moreB = b.next()
		}
	}
	return out
}

// write appends the dropped part of an element to out.
func (w setIterator) write(out []byte, n int32, d []dropped) []byte {
	if d == nil {
		return append(out, w.raw[w.nodes[n].start-1:w.nodes[n].end]...)
	}
	return append(merge(w.open(out, &w.nodes[n]), w.into(n, d), setIterator{}), '}')
}
