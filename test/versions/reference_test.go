// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/rule"
)

// part is what the rule asks for in one version.
type part struct {
	// needed are the differences that the caller must be allowed to make, and sufficient those that are enough.
	// They differ only if others change the object: then a value may have moved.
	needed, sufficient []rule.Difference
	granular           bool
}

// reference is the answer of the rule to a write.
type reference struct {
	parts []part
	// closed is set if the write is refused whatever the caller holds.
	closed bool
	// whole is set if others change the object and a field differs as a whole. Then the gate may refuse more.
	whole bool
}

// soundly and completely report whether the rule needs no more, and whether what it allows must be allowed.
func (r *reference) soundly(holds func(string) bool) bool {
	return !r.closed && !slices.ContainsFunc(r.parts, func(p part) bool { return !rule.Allowed(p.granular, p.needed, holds) })
}

func (r *reference) completely(holds func(string) bool) bool {
	return !r.closed && !r.whole && !slices.ContainsFunc(r.parts, func(p part) bool { return !rule.Allowed(p.granular, p.sufficient, holds) })
}

// add adds what the rule asks for in a version. sent are the caller's own differences there, and final those
// that are about to be stored. If excluded is set, only excluded fields count.
func (r *reference) add(granular, excluded bool, sent, final []rule.Difference, admitted bool) {
	r.whole = r.whole || admitted && slices.ContainsFunc(slices.Concat(sent, final), differsAsWhole)
	if excluded {
		sent, final = rule.Excluded(sent), rule.Excluded(final)
	}
	one := part{needed: final, sufficient: final, granular: granular}
	if admitted {
		one.needed, one.sufficient = rule.Both(sent, final), rule.Own(sent, final)
	}
	r.parts = append(r.parts, one)
}

func differsAsWhole(d rule.Difference) bool {
	return slices.ContainsFunc(d, func(p rule.Place) bool { return p[len(p)-1].Whole })
}

// reference returns what the rule and the records say about a write.
func (w *write) reference() *reference {
	d, out := w.definition, &reference{closed: w.granular && w.unknown}
	before := func(v *version) any {
		if w.stored == nil {
			return rule.Absent{}
		}
		read, _ := d.read(runtime.DeepCopyJSON(w.stored), w.source, v)
		return read
	}
	// The version of the request.
	shown := before(w.request)
	out.add(w.granular, !w.granular, w.request.differences(shown, w.sent), w.request.differences(shown, w.final), w.admitted)
	// The versions in which objects are stored.
	for _, v := range d.versions() {
		if v != d.current && (v != w.source || w.stored == nil) || v == d.current && v == w.request {
			continue
		}
		old := before(v)
		sent := d.stores(v, old, w.sent, w.request)
		if object, ok := shown.(map[string]any); ok {
			for _, lost := range d.stores(v, old, object, w.request) {
				if !slices.ContainsFunc(sent, lost.Same) {
					sent = append(sent, lost)
				}
			}
		}
		out.add(w.granular, !w.granular, sent, d.stores(v, old, w.final, w.request), w.admitted)
	}
	// What a webhook makes of it in other versions.
	for _, v := range d.versions() {
		if !d.webhook || v == w.request || v == d.current {
			continue
		}
		old := shown
		if object, ok := shown.(map[string]any); ok {
			old = d.converted(object, w.request, v)
		}
		sent, final := d.converted(w.sent, w.request, v), d.converted(w.final, w.request, v)
		out.add(false, true, v.differences(old, sent), v.differences(old, final), w.admitted)
	}
	return out
}

// stores returns the differences between the stored object and an object of a version after it was stored, both
// as they are read in v. A default that the stored version sets while an object is read is none.
func (d *definition) stores(v *version, old any, object map[string]any, request *version) []rule.Difference {
	written := d.asStored(runtime.DeepCopyJSON(object), request)
	read, _ := d.read(runtime.DeepCopyJSON(written), d.current, v)
	out := v.differences(old, read)
	if v != d.current {
		return out
	}
	kept := v.differences(old, written)
	return slices.DeleteFunc(out, func(one rule.Difference) bool {
		return !slices.ContainsFunc(kept, func(other rule.Difference) bool { return isInside(one, other) })
	})
}

// isInside reports whether a difference is the other one, contains it, or is inside a place that differs as a whole.
func isInside(one, other rule.Difference) bool {
	x, y := one[0].String(), other[0].String()
	return strings.HasPrefix(y, x) || differsAsWhole(other) && strings.HasPrefix(x, y)
}

// differences returns what differs between two objects. A new object has new metadata.
func (v *version) differences(old any, object map[string]any) []rule.Difference {
	if _, create := old.(rule.Absent); create {
		object = maps.Clone(object)
		object["metadata"] = "new"
	}
	return rule.Differences(v.field, old, any(object))
}
