// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
	"kube-granular.dev/pkg/gate/redact"
)

// storedForm verifies a write of a custom resource in the version in which the object is stored. The
// version of the request may not show all that is stored: the server prunes fields that the schema
// of a version lacks, and a conversion webhook may move or drop fields. The server then stores what
// is left. So the stored object and the object that is about to be stored are compared in the
// stored version, as the server reads them there. A default that this version sets while it is read
// is no change. See ADR 0082.
type storedForm struct {
	// by is nil if the write needs no such verification.
	by *granular.Stored
	// version is the name of the version of the request, and through is that version.
	version string
	through *granular.StoredVersion
	// partial is set if the version of the request may not show all that is stored.
	partial bool
	// observed is a copy of the object with the caller's own change, before mutating admission. It
	// is nil if that is not known. Then all that is about to change counts as the caller's.
	observed *unstructured.Unstructured
}

// storedOf returns the storedForm of a write. If the caller holds the ordinary verb, only excluded
// permissions are verified, so a definition without them needs nothing.
func storedOf(target granular.Target, marked bool, added entrySet) storedForm {
	if target.Schema == nil || target.Schema.Stored == nil || !marked && len(target.Schema.Excludes) == 0 && !added.excludes() {
		return storedForm{}
	}
	s := storedForm{by: target.Schema.Stored, version: target.Kind.Version}
	if target.Scale != nil {
		s.version = target.Scale.Kind.Version
	}
	s.through = s.by.Versions[s.version]
	s.partial = s.isPartial()
	return s
}

// isPartial reports whether the version of the request may not show all that is stored.
func (s *storedForm) isPartial() bool {
	switch {
	case s.by == nil:
		return false
	case s.through == nil || s.through.Hides():
		return true
	}
	return s.version != s.by.Kind.Version && (s.by.Webhook || !s.through.Same)
}

// observe keeps own, the object with the caller's own change that ownObject returned. For a scale
// it keeps nothing, because the scaled resource is not known yet. The server itself changes nothing
// else in that resource.
func (s *storedForm) observe(own runtime.Object, scaled bool) {
	s.observed, s.partial = nil, s.isPartial()
	if u, ok := own.(*unstructured.Unstructured); ok && s.partial && !scaled {
		s.observed = u.DeepCopy()
	}
}

// ownObject returns newObj without what the caller sent for a part that the endpoint does not
// write. The server stores oldObj's part instead: of a write of the status all but the status, and
// of any other write the status, if the version has a status subresource. Otherwise a caller could
// send such a part so that a conversion hides the caller's change. The result may share memory with
// both objects.
func (s *storedForm) ownObject(newObj, oldObj runtime.Object, subresource string) runtime.Object {
	sent, ok := newObj.(*unstructured.Unstructured)
	if !ok || s.through == nil {
		return newObj
	}
	var kept map[string]any
	if old, ok := oldObj.(*unstructured.Unstructured); ok {
		kept = old.Object
	}
	switch {
	case subresource == "status" && kept != nil:
		return &unstructured.Unstructured{Object: withStatusOf(kept, sent.Object)}
	case subresource == "" && s.through.Status:
		return &unstructured.Unstructured{Object: withStatusOf(sent.Object, kept)}
	}
	return newObj
}

// withStatusOf returns a shallow copy of object with the status of other, or without one if other
// has none.
func withStatusOf(object, other map[string]any) map[string]any {
	out := maps.Clone(object)
	delete(out, "status")
	if status, ok := other["status"]; ok {
		out["status"] = status
	}
	return out
}

// errPartial is the reason of a refusal if the stored object can't be compared.
func (s *storedForm) errPartial() error {
	return fmt.Errorf("version %s does not show all that is stored; use version %s", s.version, s.by.Kind.Version)
}

// judgedVersion is one version in which a write is verified, with the stored object in that version.
type judgedVersion struct {
	version *granular.StoredVersion
	kind    *kind
	target  granular.Target
	old     runtime.Object
}

// verifyStored verifies newObj, which is about to be stored. oldObj is the stored object, or an
// object without UID if nothing is stored. Both are in the version of the request.
func (w *write) verifyStored(ctx context.Context, newObj, oldObj runtime.Object) error {
	if !w.stored.partial {
		return nil
	}
	versions, err := w.judgedVersions(ctx, newObj, oldObj)
	if err != nil || len(versions) == 0 {
		return err
	}
	forms, err := w.storedForms(newObj, oldObj)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("the object can't be verified in version %s, because its conversion failed: %w",
			w.stored.by.Kind.Version, err))
	}
	for i := range versions {
		if err := w.verifyIn(ctx, &versions[i], forms, newObj); err != nil {
			return err
		}
	}
	return nil
}

// judgedVersions reads the stored object. It returns the versions in which the write is verified:
// the one in which new objects are stored, and the one in which this object is stored, if that
// differs. The version of the request is left out, if it is the first of these, because there the
// objects have been compared already. judgedVersions refuses a granular write if the object has
// fields that no version shows, because the write would erase them.
func (w *write) judgedVersions(ctx context.Context, newObj, oldObj runtime.Object) ([]judgedVersion, error) {
	definition := w.stored.by
	current := definition.Versions[definition.Kind.Version]
	if w.stored.through == nil || current == nil {
		return nil, w.forbidden(newObj, w.stored.errPartial())
	}
	var old *unstructured.Unstructured
	var raw *granular.StoredObject
	kind := definition.Kind
	if convert.Stored(oldObj) {
		var unknown, err error
		if raw, err = w.readStored(ctx, oldObj); err != nil {
			return nil, err
		}
		old, kind, unknown, err = decodeStored(current, raw.Data)
		switch {
		case err != nil:
			return nil, apierrors.NewInternalError(fmt.Errorf("the stored object can't be verified: %w", err))
		case unknown != nil && w.marked:
			return nil, w.forbidden(newObj, w.inNoVersion(ctx, unknown))
		}
	}
	var out []judgedVersion
	if w.stored.version != definition.Kind.Version {
		out = append(out, w.judgedIn(current, definition.Kind.Version, old))
	}
	if kind.Version == definition.Kind.Version {
		return out, nil
	}
	older := definition.Versions[kind.Version]
	if older == nil {
		return nil, w.forbidden(newObj, fmt.Errorf("it is stored in version %s, which its definition does not have", kind.Version))
	}
	old, _, _, err := decodeStored(older, raw.Data)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("the stored object can't be verified: %w", err))
	}
	return append(out, w.judgedIn(older, kind.Version, old)), nil
}

func (w *write) judgedIn(version *granular.StoredVersion, name string, old *unstructured.Unstructured) judgedVersion {
	out := judgedVersion{version: version, target: w.target}
	out.target.Kind = w.stored.by.Kind
	out.target.Kind.Version = name
	out.kind = kindWith(out.target, w.kind.added)
	if old != nil {
		out.old = old
	}
	return out
}

// readStored reads the object of oldObj as it is stored. It returns a conflict if the object has
// been written since oldObj was read. Then the storage makes another attempt.
func (w *write) readStored(ctx context.Context, oldObj runtime.Object) (*granular.StoredObject, error) {
	old, err := meta.Accessor(oldObj)
	if err != nil {
		return nil, err
	}
	raw, err := w.stored.through.Read(ctx, old.GetName())
	switch {
	case err != nil && !storage.IsNotFound(err):
		return nil, apierrors.NewInternalError(fmt.Errorf("the stored object can't be read: %w", err))
	case err != nil || raw.ResourceVersion != old.GetResourceVersion():
		return nil, apierrors.NewConflict(w.target.Resource.GroupResource(), old.GetName(), errors.New(registry.OptimisticLockErrorMsg))
	}
	return raw, nil
}

// inNoVersion returns the reason of a refusal if the object has fields that no version shows. The
// reason contains the path of a field only if the caller is allowed to get the object.
func (w *write) inNoVersion(ctx context.Context, unknown error) error {
	path := "a field"
	if w.mayGet(ctx) {
		_, quoted, _ := strings.Cut(unknown.Error(), `"`)
		path = change.Shorten(strings.TrimSuffix(quoted, `"`), redact.Narrow.Path)
	}
	return fmt.Errorf("%s is stored and in no version: a holder of update must rewrite the object", path)
}

// decodeStored decodes a stored object to a version. kind is the kind in the version in which it is
// stored. unknown is the error for the first field that this version does not have, nil if there is
// none. Fields of metadata do not count: their schema is the server's own.
func decodeStored(version *granular.StoredVersion, data []byte) (object *unstructured.Unstructured, kind gvk.GroupVersionKind, unknown, err error) {
	obj, source, err := version.Codec.Decode(data, nil, nil)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		all := strict.Errors()
		metadata := prefixOfMetadata(data)
		if i := slices.IndexFunc(all, func(err error) bool { return metadata == "" || !strings.HasPrefix(err.Error(), metadata) }); i >= 0 {
			unknown = all[i]
		}
		err = nil
	}
	object, ok := obj.(*unstructured.Unstructured)
	if err == nil && (!ok || source == nil) {
		err = convert.ErrNotComparable
	}
	if err != nil {
		return nil, kind, nil, err
	}
	return object, *source, unknown, nil
}

// prefixOfMetadata returns the text with which upstream's error for an unknown field of metadata
// begins. The error does not quote names. So if a field at the root of the stored object has a name
// that begins like the path of such a field, the error can be about both, and the result is empty.
func prefixOfMetadata(data []byte) string {
	var root map[string]json.RawMessage
	if json.Unmarshal(data, &root) != nil {
		return ""
	}
	for name := range root {
		if strings.HasPrefix(name, "metadata.") {
			return ""
		}
	}
	return `unknown field "metadata.`
}
