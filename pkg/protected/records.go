// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
)

// record is the known state of one attribute.
type record struct {
	// version is the resource version of the change that produced the record.
	version uint64
	// gone is true for a tombstone: a hook reported that the attribute was removed, but the watch
	// has not reported that removal yet, and can still report older changes of the attribute.
	gone bool
	// attribute is the attribute, which must not be modified. entry is its converted form.
	attribute authority.Attribute
	entry     protect.Entry
	// inForce is true if the attribute was in force when the set was last built.
	inForce bool
}

func recordOf(a authority.Attribute, version uint64) *record {
	return &record{version: version, attribute: a, entry: entryFrom(a)}
}

// name identifies an attribute among those of its kind. The namespace of a
// ClusterProtectedAttribute is empty.
type name struct{ namespace, name string }

func nameOf(a authority.Attribute) name { return name{a.GetNamespace(), a.GetName()} }

// records are the attributes of one kind, by namespace and name. Which of two changes is newer is
// decided by their resource versions.
type records struct {
	byNamespace map[string]map[string]*record
	// watchVersion is the resource version up to which the watch has reported all changes.
	watchVersion uint64
	// tombstones are the records with gone set.
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

// applyHook applies a change that a hook reported, and reports whether the change is new. It
// ignores a change that is not new: a newer change of the attribute is known, or the watch has
// already reached the version of the change. The latter can happen because the hook of a request
// can come late.
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

// applyWatch applies a change that the watch reported, and reports whether the change is new. It
// ignores the change if a hook has already reported a newer change of the same attribute.
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

// advanceTo sets the version that the watch has reached, and removes the tombstones that are not
// newer than that version.
func (r *records) advanceTo(version uint64) {
	r.watchVersion = version
	for n, of := range r.tombstones {
		if of.version <= version {
			r.drop(n)
		}
	}
}

// replaceAll replaces the records by a list that has the given version. It keeps the records of
// changes that a hook reported, if they are newer than both the list and the version that the watch
// had reached.
func (r *records) replaceAll(list map[name]*record, version uint64) {
	// A list is older than what the watch had reached only if storage was restored from a backup.
	// Then all records up to the version that the watch had reached are removed.
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
