// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// NewDecoder returns a decoder of managedFields entries for managedfields.InstallDecoder. The
// decoder returns nil, so that upstream decodes the entry, if enabled returns false, or if read
// can't confirm that the entry is encoded as upstream encodes it.
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

// lazySet is the set of field paths of one entry of managedFields. The set is decoded at the first
// call of the method Set. Like upstream's sets, it belongs to one request.
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

// Encoded returns the original encoding. It returns false after a call of Set, because the
// caller of Set may have changed the set.
func (u *lazySet) Encoded() ([]byte, bool) { return u.fields.raw, u.set == nil }

// Union returns nil, which makes upstream compute the union.
func (u *lazySet) Union(fieldpath.VersionedSet) fieldpath.VersionedSet { return nil }

// decode decodes an encoded set that read has confirmed. So decoding can't fail.
func decode(raw []byte) *fieldpath.Set {
	set := &fieldpath.Set{}
	_ = set.FromJSON(bytes.NewReader(raw))
	return set
}

// partialSet is a set of field paths that was split. Upstream gets only the part with paths in
// compared fields. The part with paths in dropped fields stays encoded.
type partialSet struct {
	// compared is the part that upstream gets, and after the update what upstream made of this
	// part. before is the encoding of the part before the update.
	compared fieldpath.VersionedSet
	before   []byte
	// whole is the original set. rest are the fields that were dropped from the objects. Their
	// paths are not in the part for upstream.
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

// Encoded returns the encoding of the whole set, without decoding the part with the dropped
// fields. If it returns false, upstream encodes the result of Set.
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
		return nil, false // an empty element has the same encoding as a path in the set
	}
	if bytes.Equal(now, p.before) {
		return p.whole.raw, true
	}
	return union(f.iterate(nil), p.whole.iterate(p.rest)), true
}

// Union returns the union with another set, which is added to the compared part only. After a call
// of Set it returns nil, which makes upstream compute the union.
func (p *partialSet) Union(set fieldpath.VersionedSet) fieldpath.VersionedSet {
	if p.set != nil {
		return nil
	}
	out := *p
	out.compared = fieldpath.NewVersionedSet(set.Set().Union(p.compared.Set()), set.APIVersion(), set.Applied())
	return &out
}

// split returns the sets of all managers of an update without the paths in the dropped fields d.
// The function that it returns adds these paths again to the sets that upstream computed.
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

// splitSet splits the set of one manager. It returns nil if the set must stay whole: if no path is
// in a dropped field, or if reconciliation with the schema might change such a path.
func splitSet(u *lazySet, d []dropped, r root) *partialSet {
	rest := u.fields.iterate(d)
	if _, _, any := rest.next(); !any || r.schema == nil || !u.fields.iterate(d).reconciled(r, r.ref) {
		return nil
	}
	before := u.fields.compared(d)
	return &partialSet{compared: fieldpath.NewVersionedSet(decode(before), u.version, u.applied), before: before, whole: u.fields, rest: d}
}
