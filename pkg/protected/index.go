// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror"
	registry "kube-granular.dev/pkg/registry/authority"
)

// Index holds the protected attributes of both kinds, ProtectedAttribute and
// ClusterProtectedAttribute, and builds the set of those in force.
type Index struct {
	// namespaces returns the metadata of a namespace, nil if it is unknown.
	namespaces func(name string) *metav1.ObjectMeta
	// changed is called after every change, even if the set stays the same.
	changed func()

	// mu guards the fields below.
	mu sync.RWMutex
	// kinds are the ProtectedAttributes and the ClusterProtectedAttributes.
	kinds [2]*mirror.Mirror[name, authority.Attribute, record]
	// byNamespace are the records of both kinds. The namespace of cluster-wide ones is empty.
	byNamespace map[string]map[string]*record

	set atomic.Pointer[protect.Set]
}

// Attribute is a protected attribute with its state on this server.
type Attribute struct {
	authority.Attribute
	// InForce is true if the attribute has an effect.
	InForce bool
}

// record is what the index has of one attribute.
type record struct {
	// attribute is the attribute, which must not be modified. entry is its converted form.
	attribute authority.Attribute
	entry     protect.Entry
	// inForce is true if the attribute was in force when the set was last built.
	inForce bool
}

// name identifies an attribute among those of its kind. The namespace of a
// ClusterProtectedAttribute is empty.
type name struct{ namespace, name string }

func nameOf(a authority.Attribute) name { return name{a.GetNamespace(), a.GetName()} }

const (
	namespaced = iota
	cluster
)

// NewIndex returns an empty index. namespaces returns the metadata of a namespace, or nil if this
// server does not know the namespace.
func NewIndex(namespaces func(name string) *metav1.ObjectMeta) *Index {
	x := &Index{namespaces: namespaces, changed: func() {}, byNamespace: map[string]map[string]*record{}}
	for i := range x.kinds {
		x.kinds[i] = mirror.New(&x.mu, mirror.Kind[name, authority.Attribute, record]{
			Key: nameOf,
			Compile: func(a authority.Attribute, _ uint64, _ *record) *record {
				return &record{attribute: a, entry: entryFrom(a)}
			},
			OnChange: x.update,
		})
	}
	return x
}

// Set returns the entries of the attributes in force. It does not allocate.
func (x *Index) Set() *protect.Set { return x.set.Load() }

// Observe applies a change that a request to this server made. When Observe returns, the set
// includes the change. The attribute is not kept.
func (x *Index) Observe(a authority.Attribute, gone bool) {
	kind := namespaced
	if a.GetNamespace() == "" {
		kind = cluster
	}
	x.kinds[kind].Observe(a.DeepCopyObject().(authority.Attribute), gone)
}

// update applies changes to the set.
func (x *Index) update(changes []mirror.Change[record]) {
	for _, c := range changes {
		x.file(c)
	}
	if len(changes) == 1 {
		x.updateEntry(changes[0])
	} else {
		x.rebuild()
	}
	x.changed()
}

// file puts an attribute into byNamespace, or removes it there.
func (x *Index) file(c mirror.Change[record]) {
	if c.New == nil {
		namespace := c.Old.entry.Namespace
		delete(x.byNamespace[namespace], c.Old.entry.Name)
		if len(x.byNamespace[namespace]) == 0 {
			delete(x.byNamespace, namespace)
		}
		return
	}
	namespace := c.New.entry.Namespace
	if x.byNamespace[namespace] == nil {
		x.byNamespace[namespace] = map[string]*record{}
	}
	x.byNamespace[namespace][c.New.entry.Name] = c.New
}

// NamespaceChanged updates the set after the creation, deletion or replacement of a namespace.
func (x *Index) NamespaceChanged(namespace string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.byNamespace[namespace] {
		if r.inForce != x.inForce(r) {
			x.replaceNamespace(namespace)
			x.changed()
			return
		}
	}
}

// Attributes returns all attributes, in force or not, in no particular order. The caller must
// not modify them.
func (x *Index) Attributes() (out []Attribute) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, records := range x.byNamespace {
		for _, r := range records {
			out = append(out, Attribute{r.attribute, r.inForce})
		}
	}
	return out
}

// inForce reports whether the attribute of a record has an effect. An attribute has none if it was
// created in an earlier namespace of the same name, which was deleted. This is assumed only if the
// namespace UID in the status of the attribute differs from the UID of the namespace that this
// server knows, and the attribute is older than that namespace. If the UIDs differ but the
// attribute is not older, the server's knowledge of the namespace is out of date.
func (x *Index) inForce(r *record) bool {
	if r.entry.Namespace == "" {
		return true
	}
	namespace := x.namespaces(r.entry.Namespace)
	if namespace == nil {
		return true
	}
	meta, _, status := r.attribute.Parts()
	return registry.InNamespace(status, namespace.UID) || !meta.CreationTimestamp.Time.Before(namespace.CreationTimestamp.Time)
}

// updateEntry updates the set after the change of one attribute, if that changes what is in force.
func (x *Index) updateEntry(c mirror.Change[record]) {
	before, after := c.Old != nil && c.Old.inForce, c.New != nil && x.inForce(c.New)
	switch {
	case !before && !after:
	case before && after && reflect.DeepEqual(c.Old.entry, c.New.entry):
		c.New.inForce = true
	case c.New != nil:
		x.replaceNamespace(c.New.entry.Namespace)
	default:
		x.replaceNamespace(c.Old.entry.Namespace)
	}
}

// replaceNamespace rebuilds the entries of one namespace in the set of protected attributes, or the
// cluster-wide entries if namespace is empty. The other entries stay as they are.
func (x *Index) replaceNamespace(namespace string) {
	x.set.Store(x.set.Load().With(namespace, x.entries(namespace)...))
}

// entries returns the entries in force in a namespace, or the cluster-wide entries if namespace is
// empty, sorted by name. It also updates the field inForce of their records.
func (x *Index) entries(namespace string) []protect.Entry {
	records := x.byNamespace[namespace]
	out := make([]protect.Entry, 0, len(records))
	for _, n := range slices.Sorted(maps.Keys(records)) {
		r := records[n]
		if r.inForce = x.inForce(r); r.inForce {
			out = append(out, r.entry)
		}
	}
	return out
}

// rebuild builds the whole set.
func (x *Index) rebuild() {
	var entries []protect.Entry
	for namespace := range x.byNamespace {
		entries = append(entries, x.entries(namespace)...)
	}
	x.set.Store(protect.New(entries...))
}
