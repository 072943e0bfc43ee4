// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"bytes"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kube-granular.dev/granular/change"
	granular "kube-granular.dev/granular/schema"
)

// Trees has the permissions of kinds.
type Trees interface {
	// Tree returns the permissions of what is written to a resource or subresource. It
	// returns nil where fields are not authorized, such as those of pods/eviction, and an error
	// where that can't be found out.
	Tree(of schema.GroupVersionResource, subresource string) (*granular.Tree, error)
}

// errFieldsUnknown means that a log does not tell which fields a request changed.
var errFieldsUnknown = errors.New("the log does not hold what the request changed")

// created returns the excluded fields of an object that a caller with the verb create made.
func created(w *change.Walker, e *event) (change.Set, error) {
	return changesOfObject(w, e, change.ExcludedOnly, nil)
}

// changed returns the fields that an update or a patch changed, for which the caller has to
// answer. Old is the version before, nil if it is not known.
func changed(w *change.Walker, e *event, old []byte) (change.Set, error) {
	if len(e.ResponseObject) > 0 && !e.showsObject() {
		return nil, errFieldsUnknown
	}
	if e.ResponseStatus.Code == 201 {
		return changesOfObject(w, e, change.All, nil)
	}
	if e.Verb == "update" {
		if old == nil || !isBasedOn(old, e.RequestObject) {
			return nil, errFieldsUnknown
		}
		was, err := asMap(old)
		if err != nil {
			return nil, errFieldsUnknown
		}
		return changesOfObject(w, e, change.All, was)
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
	was, err := asMap(old)
	if err != nil {
		return nil, errFieldsUnknown
	}
	own, ok := requestedObject(w, e, old, after)
	if !ok {
		return namedByPatch(w, e, after)
	}
	observed, err := w.Compare(change.All, was, own)
	if err != nil {
		return nil, errFieldsUnknown
	}
	final, err := w.Compare(change.All, was, after)
	if err != nil {
		return nil, errFieldsUnknown
	}
	set := change.Answerable(observed, final)
	if !isApply(e) {
		return set, nil
	}
	// What the manager gave up is not in what it applies, and gone.
	gone, err := w.Compare(change.All, was, intersect(was, after, w.Tree().Root))
	if err != nil {
		return nil, errFieldsUnknown
	}
	return append(set, gone...), nil
}

// namedByPatch returns the fields that a patch names. The object before it is not known.
func namedByPatch(w *change.Walker, e *event, after map[string]any) (change.Set, error) {
	from, err := reconstructOld(e.RequestObject, after, w.Tree().Root)
	if err != nil {
		return nil, errFieldsUnknown
	}
	set, err := w.Compare(change.All, from, after)
	if err != nil {
		return nil, errFieldsUnknown
	}
	return set, nil
}

// changesOfObject returns what a caller who sent a whole object changed, and the server left so.
func changesOfObject(w *change.Walker, e *event, mode change.Mode, was map[string]any) (change.Set, error) {
	var old any
	if was != nil {
		old = was
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

// isBasedOn reports whether an object was made from a version: it names it, or none.
func isBasedOn(old, object []byte) bool {
	var was, is identity
	if utiljson.Unmarshal(old, &was) != nil || utiljson.Unmarshal(object, &is) != nil {
		return false
	}
	return is.Metadata.ResourceVersion == "" || is.Metadata.ResourceVersion == was.Metadata.ResourceVersion
}

// isApply reports whether a patch is one of server-side apply: it is a whole object, and such a
// request has to name its field manager.
func isApply(e *event) bool {
	var id identity
	return len(e.query()["fieldManager"]) > 0 && !bytes.HasPrefix(bytes.TrimSpace(e.RequestObject), []byte("[")) &&
		utiljson.Unmarshal(e.RequestObject, &id) == nil && id.APIVersion != "" && id.Kind != ""
}

// asMap reads an object, with numbers as the library has them.
func asMap(data []byte) (map[string]any, error) {
	out := map[string]any{}
	return out, utiljson.Unmarshal(data, &out)
}
