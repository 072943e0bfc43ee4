// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
)

// record is what is known of one attribute.
type record struct {
	// version is that of the change that the record is of.
	version uint64
	// gone marks a tombstone: the attribute was removed, as a hook told, and the watch may
	// still come with older changes of it.
	gone bool
	// attribute is the attribute, which nobody may change, and entry what it says.
	attribute authority.Attribute
	entry     protect.Entry
	// inForce reports whether the attribute was in force when its set was made.
	inForce bool
}

func recordOf(a authority.Attribute, version uint64) *record {
	return &record{version: version, attribute: a, entry: entryFrom(a)}
}

// name names an attribute of one kind. The namespace of a cluster's is empty.
type name struct{ namespace, name string }

func nameOf(a authority.Attribute) name { return name{a.GetNamespace(), a.GetName()} }

// records are the attributes of one kind, by namespace. Versions order the changes of one
// kind as its watch tells of them.
type records struct {
	byNamespace map[string]map[string]*record
	// watchVersion is how far the watch has come: it told of every change up to this version.
	watchVersion uint64
	// tombstones are the records that are gone.
	tombstones map[name]*record
}

func newRecords() records {
	return records{byNamespace: map[string]map[string]*record{}, tombstones: map[name]*record{}}
}

func (r *records) get(n name) *record { return r.byNamespace[n.namespace][n.name] }

func (r *records) put(n name, to *record) {
	if r.byNamespace[n.namespace] == nil {
		r.byNamespace[n.namespace] = map[string]*record{}
	}
	r.byNamespace[n.namespace][n.name] = to
	delete(r.tombstones, n)
	if to.gone {
		r.tombstones[n] = to
	}
}

func (r *records) drop(n name) {
	delete(r.byNamespace[n.namespace], n.name)
	if len(r.byNamespace[n.namespace]) == 0 {
		delete(r.byNamespace, n.namespace)
	}
	delete(r.tombstones, n)
}

// applyHook takes what a hook tells, and reports whether it is news. It is not where the watch
// has passed the change, whatever the watch said: the hook of a request may be late.
func (r *records) applyHook(n name, to *record) bool {
	if to.version <= r.watchVersion {
		return false
	}
	if known := r.get(n); known != nil && known.version >= to.version {
		return false
	}
	r.put(n, to)
	return true
}

// applyWatch takes what the watch tells, and reports whether it is news. It is not where a hook
// told of a later change.
func (r *records) applyWatch(n name, to *record) bool {
	if known := r.get(n); known != nil && known.version > to.version {
		return false
	}
	if to.gone {
		r.drop(n)
	} else {
		r.put(n, to)
	}
	return true
}

// advanceTo notes that the watch has come to a version, and forgets the tombstones that it has
// passed.
func (r *records) advanceTo(version uint64) {
	r.watchVersion = version
	for n, of := range r.tombstones {
		if of.version <= version {
			r.drop(n)
		}
	}
}

// replaceAll takes what a list tells. What a hook told beyond the list and the watch stays.
func (r *records) replaceAll(list map[name]*record, version uint64) {
	// A list is never older than the watch before it, unless storage was set back. Then what
	// the watch had passed is gone.
	beyond := max(version, r.watchVersion)
	before := r.byNamespace
	*r = newRecords()
	for n, to := range list {
		r.put(n, to)
	}
	for namespace, of := range before {
		for of, known := range of {
			if known.version > beyond {
				r.put(name{namespace, of}, known)
			}
		}
	}
	r.advanceTo(version)
}
