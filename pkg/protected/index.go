// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	registry "kube-granular.dev/pkg/registry/authority"
)

// Index holds the protected attributes of both kinds, ProtectedAttribute and
// ClusterProtectedAttribute, and builds the set of those in force.
type Index struct {
	// namespaces returns the metadata of a namespace, nil if it is unknown.
	namespaces func(name string) *metav1.ObjectMeta
	// changed is called after every change, even if the set stays the same.
	changed func()

	// mu protects the fields below.
	mu sync.Mutex
	// kinds are the records of ProtectedAttributes and of ClusterProtectedAttributes.
	kinds [2]records
	// listed is true for each of the two kinds once a list of it was read.
	listed [2]bool

	set atomic.Pointer[protect.Set]
}

// Attribute is a protected attribute with its state on this server.
type Attribute struct {
	authority.Attribute
	// InForce is true if the attribute has an effect.
	InForce bool
}

const (
	namespaced = iota
	cluster
)

// NewIndex returns an empty index. namespaces returns the metadata of a namespace, or nil if this
// server does not know the namespace.
func NewIndex(namespaces func(name string) *metav1.ObjectMeta) *Index {
	return &Index{namespaces: namespaces, changed: func() {}, kinds: [...]records{newRecords(), newRecords()}}
}

// Set returns the entries of the attributes in force. It does not allocate.
func (x *Index) Set() *protect.Set { return x.set.Load() }

// Listed reports whether the index has all attributes that were stored when the server started.
func (x *Index) Listed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.listed == [2]bool{true, true}
}

// markNotServed is called for a kind that the server does not serve. Listed then does not wait for
// a list of that kind.
func (x *Index) markNotServed(kind int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listed[kind] = true
}

// Observe applies a change that a request to this server made. When Observe returns, the set
// includes the change.
func (x *Index) Observe(c registry.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	to := recordOf(c.Attribute, c.ResourceVersion)
	to.gone = c.Gone
	n := nameOf(c.Attribute)
	of := &x.kinds[kindOf(n)]
	before := of.get(n)
	if of.applyHook(n, to) {
		x.updateEntry(n, before)
		x.changed()
	}
}

// NamespaceChanged updates the set after the creation, deletion or replacement of a namespace.
func (x *Index) NamespaceChanged(namespace string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, of := range x.kinds[namespaced].byNamespace[namespace] {
		if of.inForce != x.inForce(of) {
			x.replaceNamespace(namespace)
			x.changed()
			return
		}
	}
}

// Attributes returns all attributes, in force or not, in no particular order. The caller must
// not modify them.
func (x *Index) Attributes() (out []Attribute) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, kind := range x.kinds {
		for _, of := range kind.byNamespace {
			for _, r := range of {
				if !r.gone {
					out = append(out, Attribute{r.attribute, r.inForce})
				}
			}
		}
	}
	return out
}

func kindOf(n name) int {
	if n.namespace == "" {
		return cluster
	}
	return namespaced
}

// inForce reports whether the attribute of a record has an effect. An attribute has none if it was
// created in an earlier namespace of the same name, which was deleted. This is assumed only if the
// namespace UID in the status of the attribute differs from the UID of the namespace that this
// server knows, and the attribute is older than that namespace. If the UIDs differ but the
// attribute is not older, the server's knowledge of the namespace is out of date.
func (x *Index) inForce(r *record) bool {
	if r.gone {
		return false
	}
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

// updateEntry updates the set after the record of an attribute has changed, if that changes what is
// in force. before is the earlier record of the attribute, or nil.
func (x *Index) updateEntry(n name, before *record) {
	after := x.kinds[kindOf(n)].get(n)
	was, is := before != nil && before.inForce, after != nil && x.inForce(after)
	if was == is && (!is || reflect.DeepEqual(before.entry, after.entry)) {
		if after != nil {
			after.inForce = is
		}
		return
	}
	x.replaceNamespace(n.namespace)
}

// replaceNamespace rebuilds the entries of one namespace in the set of protected attributes, or the
// cluster-wide entries if namespace is empty. The other entries stay as they are.
func (x *Index) replaceNamespace(namespace string) {
	x.set.Store(x.set.Load().With(namespace, x.entries(namespace)...))
}

// entries returns the entries in force in a namespace, or the cluster-wide entries if namespace is
// empty, sorted by name. It also updates the field inForce of their records.
func (x *Index) entries(namespace string) []protect.Entry {
	of := x.kinds[kindOf(name{namespace: namespace})].byNamespace[namespace]
	out := make([]protect.Entry, 0, len(of))
	for _, n := range slices.Sorted(maps.Keys(of)) {
		if of[n].inForce = x.inForce(of[n]); of[n].inForce {
			out = append(out, of[n].entry)
		}
	}
	return out
}

// rebuild builds the whole set.
func (x *Index) rebuild() {
	entries := x.entries("")
	for namespace := range x.kinds[namespaced].byNamespace {
		entries = append(entries, x.entries(namespace)...)
	}
	x.set.Store(protect.New(entries...))
}

// reflectorStore applies the watch of one kind to the index. It implements cache.ReflectorStore.
type reflectorStore struct {
	index *Index
	kind  int
}

// Add implements cache.ReflectorStore.
func (w reflectorStore) Add(obj any) error { return w.apply(obj, false) }

// Update implements cache.ReflectorStore.
func (w reflectorStore) Update(obj any) error { return w.apply(obj, false) }

// Delete implements cache.ReflectorStore.
func (w reflectorStore) Delete(obj any) error { return w.apply(obj, true) }

// Resync implements cache.ReflectorStore.
func (reflectorStore) Resync() error { return nil }

func (w reflectorStore) apply(obj any, gone bool) error {
	attribute, to, err := recordFrom(obj)
	if err != nil {
		return err
	}
	to.gone = gone
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	n := nameOf(attribute)
	of := &w.index.kinds[w.kind]
	before := of.get(n)
	if of.applyWatch(n, to) {
		w.index.updateEntry(n, before)
		w.index.changed()
	}
	return nil
}

// UpdateResourceVersion implements cache.ResourceVersionUpdater.
func (w reflectorStore) UpdateResourceVersion(resourceVersion string) {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return
	}
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	w.index.kinds[w.kind].advanceTo(version)
}

// Replace implements cache.ReflectorStore.
func (w reflectorStore) Replace(list []any, resourceVersion string) error {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return fmt.Errorf("list attributes: %w", err)
	}
	all := make(map[name]*record, len(list))
	for _, obj := range list {
		attribute, to, err := recordFrom(obj)
		if err != nil {
			return err
		}
		all[nameOf(attribute)] = to
	}
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	w.index.kinds[w.kind].replaceAll(all, version)
	w.index.listed[w.kind] = true
	w.index.rebuild()
	w.index.changed()
	return nil
}

func recordFrom(obj any) (authority.Attribute, *record, error) {
	attribute, ok := obj.(authority.Attribute)
	if !ok {
		return nil, nil, fmt.Errorf("the watch of protected attributes returned an object of type %T", obj)
	}
	version, err := strconv.ParseUint(attribute.GetResourceVersion(), 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("attribute %q: %w", attribute.GetName(), err)
	}
	return attribute, recordOf(attribute, version), nil
}
