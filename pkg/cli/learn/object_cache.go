// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"container/list"
	"encoding/json"

	"kube-granular.dev/granular/permission"
)

// version is the last known version of an object.
type version struct {
	of   object
	data []byte
}

// object identifies one object in one API version. part is the subresource if its objects have a
// kind of their own, such as scale, and "" otherwise.
type object struct {
	group, version, resource, part, namespace, name string
}

// objectCache is an LRU cache of the last versions of objects.
type objectCache struct {
	limit, size int
	order       *list.List // of *version, most recently used first
	entries     map[object]*list.Element
}

func newObjectCache(limit int) *objectCache {
	return &objectCache{limit: limit, order: list.New(), entries: map[object]*list.Element{}}
}

// put stores a copy of a version.
func (s *objectCache) put(o object, data []byte) {
	s.remove(o)
	if len(data) > s.limit/16 {
		return // a large object is not stored, because it would evict too many others
	}
	s.entries[o] = s.order.PushFront(&version{o, bytes.Clone(data)})
	for s.size += len(data); s.size > s.limit; {
		s.remove(s.order.Back().Value.(*version).of)
	}
}

// get returns the last known version of an object, or nil.
func (s *objectCache) get(o object) []byte {
	e := s.entries[o]
	if e == nil {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*version).data
}

// remove removes an object from the cache.
func (s *objectCache) remove(o object) {
	if e := s.entries[o]; e != nil {
		s.size -= len(s.order.Remove(e).(*version).data)
		delete(s.entries, o)
	}
}

// identity has the fields that identify an object.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// record stores the objects in the response of a request, and removes objects that the request may
// have changed or deleted.
func (s *objectCache) record(e *event) {
	if !e.succeeded() || len(e.query()["dryRun"]) > 0 {
		return
	}
	o := e.object()
	if e.Verb != "get" && e.Verb != "list" {
		s.removeAll(o) // the request may have changed or deleted the object
	}
	if len(e.ResponseObject) == 0 {
		return
	}
	switch e.Verb {
	case "get", "create", "update", "patch":
		var id identity
		if !e.showsObject() || json.Unmarshal(e.ResponseObject, &id) != nil || id.Metadata.Name == "" {
			return
		}
		o.name = id.Metadata.Name
		s.put(o, e.ResponseObject)
	case "list":
		var all struct {
			Items []json.RawMessage `json:"items"`
		}
		if json.Unmarshal(e.ResponseObject, &all) != nil {
			return
		}
		for _, item := range all.Items {
			var id identity
			if json.Unmarshal(item, &id) == nil && id.Metadata.Name != "" {
				o.namespace, o.name = id.Metadata.Namespace, id.Metadata.Name
				s.put(o, item)
			}
		}
	}
}

// removeAll removes an object from the cache, and also its scale and the object of the subresource
// of.part.
func (s *objectCache) removeAll(o object) {
	for _, part := range []string{"", "scale", o.part} {
		o.part = part
		s.remove(o)
	}
}

// object identifies the object in the request and the response. Requests for subresources such as
// status contain the object itself. Those for other subresources, such as scale, contain an object
// of another kind.
func (e *event) object() object {
	ref := e.ObjectRef
	out := object{ref.APIGroup, ref.APIVersion, ref.Resource, "", ref.Namespace, ref.Name}
	if ref.Subresource == "scale" || !permission.StoresFields(ref.Subresource) {
		out.part = ref.Subresource
	}
	return out
}
