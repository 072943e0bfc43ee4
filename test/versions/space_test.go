// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/rule/worlds"
)

// golden spreads numbers over 64 bits: it is 2^64 divided by the golden ratio.
const golden = 0x9E3779B97F4A7C15

// space is all writes of the definitions whose stored version has one shape. The marks of root change.
type space struct {
	root *worlds.Node
	// objects are those of the schemas without permissions, by their shape.
	objects map[string][]any
	regions []region
}

func newSpace(root *worlds.Node) *space {
	s := &space{root: root, objects: map[string][]any{}}
	for _, v := range variants(root) {
		s.regions = append(append(s.regions, s.with(v, false)...), s.with(v, true)...)
	}
	return s
}

// region is the writes of one definition with one stored and one requested version.
type region struct {
	variant
	webhook bool
	// older and through are set if the object is stored, and if it is written, in the other version.
	older, through bool
	stored, sent   []any
	// size is the number of writes.
	size int
}

// with returns the regions of a variant.
func (s *space) with(v variant, webhook bool) (out []region) {
	other := v.root(s.root)
	if webhook {
		rename(other, "z")
	}
	for _, r := range []region{{}, {through: true}, {older: true}, {older: true, through: true}} {
		r.variant, r.webhook = v, webhook
		r.stored, r.sent = s.all(s.root), s.all(s.root)
		fields := len(s.root.Kids)
		if r.older {
			r.stored = s.all(other)
		}
		if r.through {
			r.sent, fields = s.all(other), len(other.Kids)
		}
		r.size = 4 * (1 + fields) * len(r.sent) * (1 + len(r.stored))
		out = append(out, r)
	}
	return out
}

// all returns all objects of a schema.
func (s *space) all(root *worlds.Node) []any {
	name := shape(root)
	if _, ok := s.objects[name]; !ok {
		s.objects[name] = worlds.Objects(root, false)
	}
	return s.objects[name]
}

// shape returns the schema without permissions as a text.
func shape(n *worlds.Node) string {
	out := n.Name + ":" + string(n.Kind) + "["
	for _, kid := range n.Kids {
		out += shape(kid) + " "
	}
	return out + "]"
}

// judge judges one write of step with the marks that root has. number, that of the marks, says where it begins:
// at places that are spread over all regions.
func (s *space) judge(found *tally, step, number int) error {
	var d *definition
	var err error
	var caller *worlds.Caller
	number = int(uint64(number) * golden % uint64(step))
	for _, r := range s.regions {
		if number < r.size {
			found.definitions++
			d, err = newDefinition(s.root, r.variant, r.webhook)
			caller = worlds.NewCaller()
		}
		for ; number < r.size; number += step {
			if err != nil {
				found.refused++
				continue
			}
			w := r.write(d, number)
			for _, admitted := range []bool{false, true} {
				if admitted {
					w.final = w.request.sent(r.sent[number/step*31%len(r.sent)].(map[string]any))
					w.admitted = true
				}
				judged, different := w.judge(caller)
				found.writes, found.callers = found.writes+1, found.callers+judged
				if different != nil {
					return fmt.Errorf("%v, a holder of %v: %w", w, caller, different)
				}
			}
		}
		if caller != nil {
			found.worlds = found.worlds.Plus(caller.Worlds())
			caller = nil
		}
		number -= r.size
	}
	return nil
}

// write returns the write with a number.
func (r *region) write(d *definition, number int) *write {
	choose := func(choices int) int {
		out := number % choices
		number /= choices
		return out
	}
	w := &write{definition: d, request: d.current, source: d.current, granular: choose(2) == 1}
	if r.older {
		w.source = d.other
	}
	if r.through {
		w.request = d.other
	}
	w.unknown = choose(2) == 1
	field := choose(1+len(w.request.root.Kids)) - 1
	sent := r.sent[choose(len(r.sent))].(map[string]any)
	if before := choose(1+len(r.stored)) - 1; before >= 0 {
		w.stored = r.stored[before].(map[string]any)
	} else {
		w.unknown = false
	}
	if field >= 0 {
		sent = patched(w.shown(), sent, w.request.root.Kids[field].Name)
	}
	w.sent = w.request.sent(sent)
	w.final = w.sent
	return w
}

// shown returns the object as the version of the request shows it, nil for a create.
func (w *write) shown() map[string]any {
	if w.stored == nil {
		return nil
	}
	out, _ := w.read(runtime.DeepCopyJSON(w.stored), w.source, w.request)
	return out
}

// patched returns an object after a merge patch of one field.
func patched(shown, sent map[string]any, field string) map[string]any {
	out := maps.Clone(shown)
	if out == nil {
		out = map[string]any{}
	}
	delete(out, field)
	if value, ok := sent[field]; ok {
		out[field] = value
	}
	return out
}
