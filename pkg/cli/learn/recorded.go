// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/json"
	"errors"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/included"
)

// Recorded is a request as a log has it, for programs that repeat it.
type Recorded struct {
	Resource                     schema.GroupVersionResource
	Subresource, Namespace, Name string
	// Body is the object or the patch of the request, or nil.
	Body []byte
	// Read is the whole object that a get returned, or nil.
	Read []byte
	// Metadata is true for a read that the verb readmetadata authorized.
	Metadata bool
	// Stored is the main object before the request, as far as the log shows it, or nil.
	Stored []byte
	// Succeeded is false if the request failed after it was authorized.
	Succeeded bool
	// Creates is true if an update or a patch created its object.
	Creates bool
	// Applies is true for a server-side apply, by the field manager Manager.
	Applies bool
	Manager string
	// Borrowed says why the request did not use the caller's own authority for its own sake. It is empty for
	// an ordinary request.
	Borrowed string
}

// Recorded returns the request.
func (d *Demand) Recorded() *Recorded {
	e := d.event
	out := &Recorded{
		Resource:    schema.GroupVersionResource{Group: e.ObjectRef.APIGroup, Version: e.ObjectRef.APIVersion, Resource: e.ObjectRef.Resource},
		Subresource: e.ObjectRef.Subresource, Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Body: e.RequestObject, Stored: d.stored, Succeeded: e.succeeded(), Creates: e.creates(),
		Metadata: e.authorizedVerb() == included.MetadataVerb,
	}
	if out.Resource.Group == "" && out.Resource.Resource == "namespaces" {
		out.Namespace = "" // the server writes the name there as well
	}
	if e.Verb == "get" && !out.Metadata && out.Subresource == "" && e.succeeded() {
		out.Read = e.ResponseObject
	}
	if e.Verb == "patch" && isApply(e) {
		out.Applies, out.Manager = true, e.query().Get("fieldManager")
	}
	_, delegated := e.delegated()
	switch {
	case d.Key.impersonation:
		out.Borrowed = "an impersonation"
	case delegated || e.Annotations[auditlog.SelectedAnnotation] != "":
		out.Borrowed = "it selected a role or a delegation"
	}
	return out
}

// errNotApplicable means that a recorded request can't be sent for another version of its object.
var errNotApplicable = errors.New("its patch does not fit the object")

// AppliedWrite is a recorded update or patch, as it would be for another version of its object.
type AppliedWrite struct {
	// Demand is what it demands.
	Demand *Demand
	// Before is the object before the write, and After the one that it asks for, in the same form.
	Before, After []byte
	// Type is the type of a patch.
	Type types.PatchType
}

// On returns the same update or patch for an object before. clean removes what the server sets from an object.
func (d *Demand) On(before []byte, clean func(map[string]any)) (*AppliedWrite, error) {
	e := *d.event
	out := &AppliedWrite{}
	var err error
	if d.Verb == "update" {
		out.After, err = d.updated(before)
	} else {
		after, _ := asMap(e.ResponseObject)
		object, patch, ok := requestedObject(d.walker.Walker, &e, before, after)
		if !ok {
			return nil, errNotApplicable
		}
		if out.Type = patch; isApply(&e) {
			out.Type = types.ApplyPatchType
		}
		out.After, err = json.Marshal(object)
	}
	if err != nil {
		return nil, err
	}
	typed := builtIn(before)
	if out.Before, err = uniform(before, typed, clean); err != nil {
		return nil, err
	}
	if out.After, err = uniform(out.After, typed, clean); err != nil {
		return nil, err
	}
	// The fields are then those in which two known objects differ, as for an update.
	e.Verb, e.RequestObject, e.ResponseObject, e.Annotations = "update", out.After, nil, nil
	copied := *d
	copied.event, copied.before = &e, out.Before
	out.Demand = &copied
	return out, nil
}

// uniform returns an object as its Go type writes it, so that empty fields do not differ.
func uniform(data []byte, typed runtime.Object, clean func(map[string]any)) ([]byte, error) {
	object, ok := decoded(data, nil, typed)
	if !ok {
		return nil, errNotApplicable
	}
	clean(object)
	return json.Marshal(object)
}

// updated returns an object with what an update changed in its own object. If the log does not show that one,
// it returns the object of the update.
func (d *Demand) updated(before []byte) ([]byte, error) {
	body := d.event.RequestObject
	if d.before == nil || !isBasedOn(d.before, body) {
		return body, nil
	}
	own, err := jsonpatch.CreateMergePatch(d.before, body)
	if err != nil {
		return nil, errNotApplicable
	}
	out, err := jsonpatch.MergePatch(before, own)
	if err != nil {
		return nil, errNotApplicable
	}
	return out, nil
}

// Fields returns the paths of the fields that the request changed, sorted. It returns false if they are not
// known.
func (d *Demand) Fields() ([]string, bool) {
	if d.walker.Walker == nil {
		return nil, d.walker.known
	}
	set, known := d.set(false)
	var out []string
	for _, c := range set {
		out = append(out, c.Path().String())
	}
	slices.Sort(out)
	return slices.Compact(out), known
}

// Decode decodes an object of a log. Numbers are int64 or float64.
func Decode(data []byte) (map[string]any, error) {
	out, err := asMap(data)
	if err != nil {
		return nil, errNotApplicable
	}
	return out, nil
}
