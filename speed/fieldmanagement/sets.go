// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// NewDecoder returns a decoder for managedfields.InstallDecoder. It leaves all entries to
// upstream while enabled returns false, and entries whose encoding read can't confirm.
func NewDecoder(enabled func() bool) func(*metav1.ManagedFieldsEntry) fieldpath.VersionedSet {
	return func(e *metav1.ManagedFieldsEntry) fieldpath.VersionedSet {
		if !enabled() {
			return nil
		}
		f, ok := read(e.FieldsV1.GetRawBytes())
		if !ok {
			return nil
		}
		return &lazySet{fields: f, version: fieldpath.APIVersion(e.APIVersion), applied: e.Operation == metav1.ManagedFieldsOperationApply}
	}
}

// lazySet is the set of one entry, which is decoded when it is needed. Like upstream's sets it
// belongs to one request.
type lazySet struct {
	fields  *encodedSet
	version fieldpath.APIVersion
	applied bool
	set     *fieldpath.Set
}

var _ managedfields.EncodedSet = &lazySet{}

func (u *lazySet) APIVersion() fieldpath.APIVersion { return u.version }
func (u *lazySet) Applied() bool                    { return u.applied }

func (u *lazySet) Set() *fieldpath.Set {
	if u.set == nil {
		u.set = decode(u.fields.raw)
	}
	return u.set
}

// Encoded returns the original encoding. It returns false once Set was called, because the
// caller may have changed the set.
func (u *lazySet) Encoded() ([]byte, bool) { return u.fields.raw, u.set == nil }

// Union returns nil, so that upstream computes the union.
func (u *lazySet) Union(fieldpath.VersionedSet) fieldpath.VersionedSet { return nil }

// decode decodes a set that read has confirmed, which never fails.
func decode(raw []byte) *fieldpath.Set {
	set := &fieldpath.Set{}
	_ = set.FromJSON(bytes.NewReader(raw))
	return set
}

// partialSet is a set of which upstream gets only the part in compared fields.
type partialSet struct {
	// compared is upstream's result for that part, before its encoding before the update.
	compared fieldpath.VersionedSet
	before   []byte
	// whole is the original set, and rest are the fields that were dropped from it.
	whole *encodedSet
	rest  []dropped
	set   *fieldpath.Set
}

var _ managedfields.EncodedSet = &partialSet{}

func (p *partialSet) APIVersion() fieldpath.APIVersion { return p.compared.APIVersion() }
func (p *partialSet) Applied() bool                    { return p.compared.Applied() }

func (p *partialSet) Set() *fieldpath.Set {
	if p.set == nil {
		p.set = p.compared.Set().Union(decode(union(emptySet.iterate(nil), p.whole.iterate(p.rest))))
	}
	return p.set
}

var emptySet = &encodedSet{}

// Encoded returns the encoding of the set, without decoding the dropped part.
func (p *partialSet) Encoded() ([]byte, bool) {
	if p.set != nil {
		return nil, false
	}
	set := p.compared.Set()
	now, err := set.ToJSON()
	if err != nil {
		return nil, false
	}
	f, ok := read(now)
	if !ok || f.members() != set.Size() {
		return nil, false // an element with nothing in it has the encoding of a member
	}
	if bytes.Equal(now, p.before) {
		return p.whole.raw, true
	}
	return union(f.iterate(nil), p.whole.iterate(p.rest)), true
}

// Union adds a set to the compared part.
func (p *partialSet) Union(set fieldpath.VersionedSet) fieldpath.VersionedSet {
	if p.set != nil {
		return nil
	}
	out := *p
	out.compared = fieldpath.NewVersionedSet(set.Set().Union(p.compared.Set()), set.APIVersion(), set.Applied())
	return &out
}

// split removes the dropped fields from the managers of an update. The function that it returns
// adds them again to the resulting managers.
func (p *prunePlan) split(managers fieldpath.ManagedFields, d []dropped) (fieldpath.ManagedFields, func(fieldpath.ManagedFields) fieldpath.ManagedFields) {
	compared := make(fieldpath.ManagedFields, len(managers))
	out := map[string]*partialSet{}
	for name, set := range managers {
		compared[name] = set
		u, ok := set.(*lazySet)
		if !ok || u.set != nil {
			continue
		}
		if q := splitSet(u, d, p.root); q != nil {
			out[name], compared[name] = q, q.compared
		}
	}
	return compared, func(managers fieldpath.ManagedFields) fieldpath.ManagedFields {
		for name, q := range out {
			q.compared = fieldpath.NewVersionedSet(fieldpath.NewSet(), q.compared.APIVersion(), q.compared.Applied())
			if made, ok := managers[name]; ok {
				q.compared = made
			}
			managers[name] = q
		}
		return managers
	}
}

// splitSet splits one set. It returns nil if no part can be left out.
func splitSet(u *lazySet, d []dropped, r root) *partialSet {
	rest := u.fields.iterate(d)
	if _, _, any := rest.next(); !any || r.schema == nil || !u.fields.iterate(d).reconciled(r, r.ref) {
		return nil
	}
	before := u.fields.compared(d)
	return &partialSet{compared: fieldpath.NewVersionedSet(decode(before), u.version, u.applied), before: before, whole: u.fields, rest: d}
}
