// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// Trees provides the permission trees of resources.
type Trees interface {
	// Tree returns the permission tree of a resource or subresource. It returns nil if the server
	// does not authorize single fields of it, as for pods/eviction, and an error if the schema
	// can't be read.
	Tree(resource kubeschema.GroupVersionResource, subresource string) (*schema.Tree, error)
}

// errFieldsUnknown means that a log does not show which fields a request changed.
var errFieldsUnknown = errors.New("the log does not show the fields that the request changed")

// created returns the excluded fields that a request set when it created its object. The verb create
// does not include them, so the caller needed permissions for them.
func created(w *change.Walker, e *event) (change.Set, error) {
	return fieldsOfNew(w, e, change.ExcludedOnly)
}

// fieldsOfNew returns the fields that a request set when it created its object.
func fieldsOfNew(w *change.Walker, e *event, mode change.Mode) (change.Set, error) {
	if len(e.ResponseObject) > 0 && !e.showsObject() {
		return nil, errFieldsUnknown
	}
	return changesOfObject(w, e, mode, nil)
}

// changed returns the fields that an update or a patch changed, without changes that only admission
// or defaulting made. old is the object before the request, or nil if it is not known.
func changed(w *change.Walker, e *event, old []byte) (change.Set, error) {
	if len(e.ResponseObject) > 0 && !e.showsObject() {
		return nil, errFieldsUnknown
	}
	if e.Verb == "update" {
		if old == nil || !isBasedOn(old, e.RequestObject) {
			return nil, errFieldsUnknown
		}
		previous, err := asMap(old)
		if err != nil {
			return nil, errFieldsUnknown
		}
		return changesOfObject(w, e, change.All, previous)
	}
	if len(e.RequestObject) == 0 || len(e.ResponseObject) == 0 {
		return nil, errFieldsUnknown
	}
	after, err := asMap(e.ResponseObject)
	if err != nil {
		return nil, errFieldsUnknown
	}
	if old == nil {
		return namedByPatch(w, e, after)
	}
	before, err := asMap(old)
	if err != nil {
		return nil, errFieldsUnknown
	}
	own, _, ok := requestedObject(w, e, old, after)
	if !ok {
		return namedByPatch(w, e, after)
	}
	observed, err := w.Compare(change.All, before, own)
	if err != nil {
		return nil, errFieldsUnknown
	}
	final, err := w.Compare(change.All, before, after)
	if err != nil {
		return nil, errFieldsUnknown
	}
	set := change.Answerable(observed, final)
	if !isApply(e) {
		return set, nil
	}
	// A server-side apply also removes fields that the field manager applied earlier and now
	// omits. The applied object does not contain them, so they are found as the fields of the old
	// object that the stored object lacks.
	gone, err := w.Compare(change.All, before, intersect(before, after, w.Tree().Root))
	if err != nil {
		return nil, errFieldsUnknown
	}
	return append(set, gone...), nil
}

// namedByPatch returns the fields that a patch names. It is used if the object before the patch is
// not known.
func namedByPatch(w *change.Walker, e *event, after map[string]any) (change.Set, error) {
	source, err := reconstructOld(e.RequestObject, after, w.Tree().Root)
	if err != nil {
		return nil, errFieldsUnknown
	}
	set, err := w.Compare(change.All, source, after)
	if err != nil {
		return nil, errFieldsUnknown
	}
	return set, nil
}

// changesOfObject returns the changes by a request that contains a whole object. previous is the object
// before the request, or nil. Changes that the server did not store are left out.
func changesOfObject(w *change.Walker, e *event, mode change.Mode, previous map[string]any) (change.Set, error) {
	var old any
	if previous != nil {
		old = previous
	}
	var sets []change.Set
	for _, data := range [][]byte{e.RequestObject, e.ResponseObject} {
		if len(data) == 0 {
			continue
		}
		object, err := asMap(data)
		if err != nil {
			return nil, errFieldsUnknown
		}
		set, err := w.Compare(mode, old, object)
		if err != nil {
			return nil, errFieldsUnknown
		}
		sets = append(sets, set)
	}
	switch len(sets) {
	case 0:
		return nil, errFieldsUnknown
	case 1:
		return sets[0], nil
	}
	return change.Answerable(sets[0], sets[1]), nil
}

// isBasedOn reports whether the object of an update can be a changed copy of the version old: it
// has the resourceVersion of old, or none.
func isBasedOn(old, object []byte) bool {
	var before, current identity
	if utiljson.Unmarshal(old, &before) != nil || utiljson.Unmarshal(object, &current) != nil {
		return false
	}
	return current.Metadata.ResourceVersion == "" || current.Metadata.ResourceVersion == before.Metadata.ResourceVersion
}

// isApply reports whether a patch is a server-side apply: it is a whole object, and the request
// names a field manager.
func isApply(e *event) bool {
	var id identity
	return len(e.query()["fieldManager"]) > 0 && !bytes.HasPrefix(bytes.TrimSpace(e.RequestObject), []byte("[")) &&
		utiljson.Unmarshal(e.RequestObject, &id) == nil && id.APIVersion != "" && id.Kind != ""
}

// asMap decodes an object. Numbers have the types that the permission library expects: int64 or
// float64.
func asMap(data []byte) (map[string]any, error) {
	out := map[string]any{}
	return out, utiljson.Unmarshal(data, &out)
}
