// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

// dropped is a field that was taken out of both objects of an update.
type dropped struct {
	name string
	// below are the fields below it that were. With none it was all of it.
	below []dropped
}

// split parts a set into what lies in fields that were dropped, which are in order,
// and all else.
func (f *fields) split(d []dropped) (compared, rest []byte) {
	compared = append(make([]byte, 0, 1024), '{')
	rest = append(make([]byte, 0, len(f.raw)), '{')
	compared, rest = f.level(compared, rest, 0, int32(len(f.nodes)), d)
	return append(compared, '}'), append(rest, '}')
}

func (f *fields) level(compared, rest []byte, at, end int32, d []dropped) ([]byte, []byte) {
	for next := int32(0); at < end; at = next {
		n := &f.nodes[at]
		next = n.after
		pair := f.raw[n.start-1 : n.end]
		here := (*dropped)(nil)
		if key := f.raw[n.start:n.colon]; key[0] == 'f' {
			name := key[2:]
			for len(d) > 0 && d[0].name < string(name) {
				d = d[1:]
			}
			if len(d) > 0 && d[0].name == string(name) {
				here = &d[0]
			}
		}
		switch {
		case here == nil || len(here.below) > 0 && next == at+1:
			compared = append(comma(compared), pair...)
		case len(here.below) == 0:
			rest = append(comma(rest), pair...)
		default:
			was, wasRest := len(compared), len(rest)
			compared = f.open(comma(compared), n)
			opened := len(compared)
			if n.member {
				compared = append(compared, dot[:len(dot)-1]...)
			}
			bare := len(compared)
			compared, rest = f.level(compared, f.open(comma(rest), n), at+1, next, here.below)
			switch {
			case len(compared) > bare:
				compared = append(compared, '}')
			case n.member:
				compared = append(compared[:opened], '}')
			default:
				compared = compared[:was]
			}
			if rest[len(rest)-1] == '{' {
				rest = rest[:wasRest]
			} else {
				rest = append(rest, '}')
			}
		}
	}
	return compared, rest
}

// open writes an element and the brace of what lies below it.
func (f *fields) open(out []byte, n *node) []byte {
	return append(append(out, f.raw[n.start-1:n.colon+1]...), ':', '{')
}

// comma separates what comes next from what is there, unless that is a brace.
func comma(out []byte) []byte {
	if out[len(out)-1] == '{' {
		return out
	}
	return append(out, ',')
}

// union spells the union of two sets.
func union(a, b *fields) []byte {
	out := append(make([]byte, 0, len(a.raw)+len(b.raw)), '{')
	return append(merge(out, a, 0, int32(len(a.nodes)), b, 0, int32(len(b.nodes))), '}')
}

func merge(out []byte, a *fields, i, endOfA int32, b *fields, j, endOfB int32) []byte {
	for i < endOfA || j < endOfB {
		order := 0
		switch {
		case i == endOfA:
			order = 1
		case j == endOfB:
			order = -1
		default:
			order = compareElements(a.key(int(i)), b.key(int(j)))
		}
		out = comma(out)
		switch {
		case order < 0:
			out = append(out, a.raw[a.nodes[i].start-1:a.nodes[i].end]...)
			i = a.nodes[i].after
		case order > 0:
			out = append(out, b.raw[b.nodes[j].start-1:b.nodes[j].end]...)
			j = b.nodes[j].after
		default:
			x, y := &a.nodes[i], &b.nodes[j]
			out = a.open(out, x)
			if (x.member || y.member) && (x.after > i+1 || y.after > j+1) {
				out = append(out, dot[:len(dot)-1]...)
			}
			out = append(merge(out, a, i+1, x.after, b, j+1, y.after), '}')
			i, j = x.after, y.after
		}
	}
	return out
}
