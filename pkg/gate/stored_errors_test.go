// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/gate/convert"
)

// failingCodec is a codec that fails on the objects that contain a text.
type failingCodec struct {
	runtime.Codec
	encode, decode string
}

var errCodec = errors.New("out of order")

func (f failingCodec) Encode(obj runtime.Object, w io.Writer) error {
	var text bytes.Buffer
	if err := f.Codec.Encode(obj, &text); err != nil || f.encode != "" && strings.Contains(text.String(), f.encode) {
		return errors.Join(err, errCodec)
	}
	_, err := w.Write(text.Bytes())
	return err
}

func (f failingCodec) Decode(data []byte, kind *gvk.GroupVersionKind, into runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	if f.decode != "" && strings.Contains(string(data), f.decode) {
		return nil, nil, errCodec
	}
	return f.Codec.Decode(data, kind, into)
}

// stage is an update of a thing, where old, observed and final are the specifications. It is not observed if observed
// is empty.
type stage struct{ old, observed, final string }

func (s stage) verify(t *testing.T, target granular.Target, g *grants, marked bool) (*granular.Marker, error) {
	t.Helper()
	in := func(spec, revision string) runtime.Object {
		out := versioned(t, spec, revision)
		out.GetObjectKind().SetGroupVersionKind(target.Kind)
		return out
	}
	ctx, marker := requestContext("update"), (*granular.Marker)(nil)
	if marked {
		ctx, marker = granular.WithMarker(ctx)
	}
	w := New(g).Begin(ctx, target)
	if w == nil {
		t.Fatal("the request is not verified")
	}
	if s.observed != "" {
		if err := w.Observe(ctx, in(s.observed, ""), in(s.old, "5")); err != nil {
			t.Fatal(err)
		}
	}
	return marker, w.Verify(ctx, in(s.final, ""), in(s.old, "5"))
}

// TestStoredFormFails checks that a write is refused with a 500 if one of the objects that are compared in the
// stored version can't be read, converted or decided about. For each failure, the same write is allowed without it.
func TestStoredFormFails(t *testing.T) {
	const one, two, three = `{"size":1}`, `{"size":2}`, `{"size":3}`
	change := stage{old: one, observed: two, final: three}
	for name, tc := range map[string]struct {
		stored string
		stage  stage
		breaks func(stored *granular.Stored)
		fail   []string
		says   string
	}{
		"the stored object can't be read": {breaks: func(s *granular.Stored) {
			s.Versions["v1"].Read = func(context.Context, string) (*granular.StoredObject, error) { return nil, errCodec }
		}, says: "the stored object can't be read"},
		"the stored object can't be decoded": {breaks: func(s *granular.Stored) {
			s.Versions["v2"].Codec = failingCodec{s.Versions["v2"].Codec, "", `"uid":"1"},"spec":{"size":1}`}
		}, says: "the stored object can't be verified"},
		"it can't be decoded in the version in which it is stored": {stored: storedAs("v0", one), breaks: func(s *granular.Stored) {
			s.Versions["v0"].Codec = failingCodec{s.Versions["v0"].Codec, "", `"size":1`}
		}, says: "the stored object can't be verified"},
		"the final object can't be encoded": {breaks: func(s *granular.Stored) {
			s.Versions["v2"].Codec = failingCodec{s.Versions["v2"].Codec, `"size":3`, ""}
		}, says: "the object can't be verified in version v2"},
		"the final object can't be decoded": {breaks: func(s *granular.Stored) {
			s.Versions["v2"].Codec = failingCodec{s.Versions["v2"].Codec, "", `"size":3`}
		}, says: "the object can't be verified in version v2"},
		"the caller's object can't be encoded": {breaks: func(s *granular.Stored) {
			s.Versions["v2"].Codec = failingCodec{s.Versions["v2"].Codec, `"size":2`, ""}
		}, says: "the object can't be verified in version v2"},
		"the unchanged object can't be encoded": {stage: stage{old: `{"size":1,"only1":8}`, observed: two, final: three}, breaks: func(s *granular.Stored) {
			s.Versions["v2"].Codec = failingCodec{s.Versions["v2"].Codec, `"only1":8`, ""}
		}, says: "the object can't be verified in version v2"},
		"the authorizer fails": {stored: storedAs("v2", `{"size":1,"secret":"s"}`), stage: stage{one, one, one}, fail: []string{"granular:secret"},
			says: "could not say which permissions"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.stored == "" {
				tc.stored = storedAs("v2", one)
			}
			if tc.stage.old == "" {
				tc.stage = change
			}
			allow := []string{"granular:size", "granular:specification", "granular:secret"}
			for _, broken := range []bool{false, true} {
				target := storedTarget(t, tc.stored, false)
				g := &grants{allow: allow}
				if broken && tc.breaks != nil {
					tc.breaks(target.Schema.Stored)
				}
				if broken && tc.fail != nil {
					g.allow, g.fail = []string{"granular:size"}, tc.fail
				}
				marker, err := tc.stage.verify(t, target, g, true)
				if !broken {
					judged(t, err, marker, "")
				} else if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.says) || marker.Consume() == nil {
					t.Errorf("got %v, wanted a 500 with %q", err, tc.says)
				}
			}
		})
	}
}

// TestStoredVersionUnknown checks that a write is refused if the definition lacks the version of the request, or
// the one in which objects are stored.
func TestStoredVersionUnknown(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		target := storedTarget(t, storedAs("v2", `{"size":1}`), false)
		delete(target.Schema.Stored.Versions, version)
		marker, err := stage{`{"size":1}`, `{"size":1}`, `{"size":1}`}.verify(t, target, &grants{allow: []string{"granular:specification"}}, true)
		judged(t, err, marker, "version v1 does not show all that is stored; use version v2")
	}
}

// TestStoredWithoutTree checks who may write an object if the version in which it is stored has no permission tree:
// only a caller with the ordinary verb, and only if no excluded permission can be hidden.
func TestStoredWithoutTree(t *testing.T) {
	noTree := errors.New("no tree")
	for name, tc := range map[string]struct {
		marked, excluded bool
		says             string
	}{
		"granular":                          {marked: true, says: "its fields can't be verified: no tree"},
		"granular, something is excluded":   {marked: true, excluded: true, says: "its fields can't be verified: no tree"},
		"an ordinary caller":                {},
		"an ordinary one, and it is hidden": {excluded: true, says: "its fields can't be verified: no tree"},
	} {
		model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
		ctx, marker := requestContext("update"), (*granular.Marker)(nil)
		if tc.marked {
			ctx, marker = granular.WithMarker(ctx)
		}
		a := attributes("update")
		w := newWrite(ctx, New(&grants{}), model, kindOf(model), &a, marker)
		err := w.verifyIn(ctx, &judgedVersion{kind: &kind{err: noTree, excluded: tc.excluded}, target: model}, storedForms{}, object(t, plain))
		t.Run(name, func(t *testing.T) { judged(t, err, nil, tc.says) })
	}
}

// TestStoredWithoutExclusion checks that a caller with the ordinary verb needs no permission in a version that has
// no excluded one, although another version has.
func TestStoredWithoutExclusion(t *testing.T) {
	const secret = `"x-kubernetes-permission-verb": "secret", "x-kubernetes-permission-excluded": `
	same := stage{`{"size":1}`, `{"size":1}`, `{"size":1}`}
	for excluded, says := range map[string]string{"true": "cannot change .spec.secret of version v2", "false": ""} {
		target := storedTarget(t, storedAs("v2", `{"size":1,"secret":"s"}`), true, secret+"true", secret+excluded)
		target.Schema.Excludes = []gvk.GroupVersionKind{}
		for _, version := range []string{"v0", "v2"} {
			if version == "v0" || excluded == "true" {
				target.Schema.Excludes = append(target.Schema.Excludes, gvk.GroupVersionKind{Group: "example.com", Version: version, Kind: "Thing"})
			}
		}
		_, err := same.verify(t, target, &grants{}, false)
		judged(t, err, nil, says)
	}
}

// TestVersionsOfAMessage checks that a refusal names the version that it is about, and the version of the request
// only if that is another.
func TestVersionsOfAMessage(t *testing.T) {
	one := stage{`{"size":1}`, `{"size":1}`, `{"size":1}`}
	for name, tc := range map[string]struct {
		request gvk.GroupVersionKind
		stored  string
		says    string
	}{
		"the version of new objects": {thing, storedAs("v2", `{"size":1,"secret":"s"}`), ".spec.secret of version v2 (version v1 may not show it) in namespace"},
		"an older version":           {thingV2, storedAs("v0", `{"size":1,"old":1}`), ".spec.old of version v0 (version v2 may not show it) in namespace"},
		"that of the request":        {thing.GroupKind().WithVersion("v0"), storedAs("v0", `{"size":1,"old":1}`), ".spec.old of version v0 in namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			target := storedTarget(t, tc.stored, false)
			target.Kind = tc.request
			through := target.Schema.Stored.Versions[tc.request.Version]
			if _, _, err := through.StorageCodec(through.Codec).Decode([]byte(tc.stored), nil, nil); err != nil {
				t.Fatal(err)
			}
			marker, err := one.verify(t, target, &grants{}, true)
			judged(t, err, marker, tc.says)
		})
	}
}

// TestStoredWithoutObservation checks that a hidden field can't be erased by a write that was not observed, nor by
// one during which the server first reads an object that the version does not show completely.
func TestStoredWithoutObservation(t *testing.T) {
	hidden := storedAs("v2", `{"size":1,"secret":"s"}`)
	marker, err := stage{old: `{"size":1}`, final: `{"size":1}`}.verify(t, storedTarget(t, hidden, false), &grants{}, true)
	judged(t, err, marker, "cannot change .spec.secret of version v2")

	old := storedAs("v0", `{"size":1,"old":1}`)
	target := storedTarget(t, old, false)
	target.Kind = thingV2
	own := target.Schema.Stored.Versions["v2"]
	ctx, marker := granular.WithMarker(requestContext("update"))
	w := New(&grants{}).Begin(ctx, target)
	if _, _, err := own.StorageCodec(own.Codec).Decode([]byte(old), nil, nil); err != nil {
		t.Fatal(err)
	}
	obj := versioned(t, `{"size":1}`, "5")
	obj.GetObjectKind().SetGroupVersionKind(thingV2)
	judged(t, verify(t, w, ctx, obj, obj), marker, "cannot change .spec.old of version v0")
}

// moving is a codec of v0 that reads the trigger of v2 as the field old.
type moving struct{ runtime.Codec }

func (m moving) Decode(data []byte, _ *gvk.GroupVersionKind, _ runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		return nil, nil, err
	}
	source := u.GroupVersionKind()
	spec, _ := u.Object["spec"].(map[string]any)
	if moved, ok := spec["trigger"]; ok {
		spec["old"] = moved
		delete(spec, "trigger")
	}
	u.SetAPIVersion("example.com/v0")
	return u, &source, nil
}

// TestFieldMovedToAnOlderVersion checks that a field which a conversion gives to the version in which the object is
// stored is no default of that version.
func TestFieldMovedToAnOlderVersion(t *testing.T) {
	for _, held := range []string{"", "granular:old"} {
		target := storedTarget(t, storedAs("v0", `{"size":1}`), false)
		target.Kind = thingV2
		versions := target.Schema.Stored.Versions
		versions["v0"].Codec = moving{versions["v0"].Codec}
		own := versions["v2"]
		if _, _, err := own.StorageCodec(own.Codec).Decode([]byte(storedAs("v0", `{"size":1}`)), nil, nil); err != nil {
			t.Fatal(err)
		}
		says := map[string]string{"": "cannot change .spec.old of version v0"}[held]
		marker, err := stage{`{"size":1}`, `{"size":1,"trigger":2}`, `{"size":1,"trigger":2}`}.verify(t, target, &grants{allow: []string{"granular:trigger", held}}, true)
		judged(t, err, marker, says)
	}
}

// TestVersionOfAScale checks that a scale is stored in the version of the resource, and not in its own.
func TestVersionOfAScale(t *testing.T) {
	target := storedTarget(t, "", false)
	target.Kind, target.Scale = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), &granular.Scale{Kind: thingV2, Path: []string{"spec", "size"}}
	if s := storedOf(target, true, entrySet{}); s.version != "v2" || s.through != target.Schema.Stored.Versions["v2"] || s.partial {
		t.Errorf("version %s, partial: %t", s.version, s.partial)
	}
}

// TestStoredForms checks which objects are converted to the stored version, and that the objects of the request
// stay as they are.
func TestStoredForms(t *testing.T) {
	unstored := &unstructured.Unstructured{Object: map[string]any{}}
	for name, tc := range map[string]struct {
		observed  bool
		old       runtime.Object
		unchanged bool
	}{
		"not observed":       {false, object(t, plain), false},
		"observed":           {true, object(t, plain), true},
		"a new object":       {true, unstored, false},
		"no object at all":   {true, nil, false},
		"not unstructured":   {true, &autoscalingv1.Scale{}, false},
		"created, unwatched": {false, nil, false},
	} {
		for _, webhook := range []bool{false, true} {
			target := storedTarget(t, "", false)
			target.Schema.Stored.Webhook = webhook
			seen := &listKind{}
			target.Convertor = seen
			w := &write{stored: storedOf(target, true, entrySet{})}
			w.target = target
			if tc.observed {
				w.stored.observed = object(t, larger)
			}
			sent := object(t, larger)
			forms, err := w.storedForms(sent, tc.old)
			if err != nil || forms.final == nil || (forms.observed != nil) != tc.observed || (forms.unchanged != nil) != tc.unchanged {
				t.Errorf("%s, webhook: %t: %+v, %v", name, webhook, forms, err)
				continue
			}
			if sent.GetAPIVersion() != "example.com/v1" || forms.final.GetAPIVersion() != "example.com/v2" {
				t.Errorf("%s, webhook: %t: the object sent is in %s, that which is stored in %s", name, webhook, sent.GetAPIVersion(), forms.final.GetAPIVersion())
			}
			if webhook && seen.kind != (gvk.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "ThingList"}) {
				t.Errorf("%s: the webhook converts a %s", name, seen.kind)
			}
		}
	}
	w := &write{stored: storedOf(storedTarget(t, "", false), true, entrySet{})}
	if _, err := w.storedForms(&autoscalingv1.Scale{}, nil); !errors.Is(err, convert.ErrNotComparable) {
		t.Errorf("of a typed object: %v", err)
	}
}

// listKind is a conversion webhook that keeps the kind of the list that it converts.
type listKind struct {
	renaming
	kind gvk.GroupVersionKind
}

func (c *listKind) ConvertToVersion(in runtime.Object, version runtime.GroupVersioner) (runtime.Object, error) {
	c.kind = in.GetObjectKind().GroupVersionKind()
	return c.renaming.ConvertToVersion(in, version)
}

// odd is a codec that decodes everything to one result.
type odd struct {
	runtime.Codec
	obj    runtime.Object
	source *gvk.GroupVersionKind
	err    error
}

func (o odd) Decode([]byte, *gvk.GroupVersionKind, runtime.Object) (runtime.Object, *gvk.GroupVersionKind, error) {
	return o.obj, o.source, o.err
}

// TestDecodeStored checks that a stored object counts only if it is unstructured and the version in which it is
// stored is known.
func TestDecodeStored(t *testing.T) {
	for name, tc := range map[string]struct {
		codec odd
		want  error
	}{
		"unstructured":     {odd{obj: object(t, plain), source: &thingV2}, nil},
		"typed":            {odd{obj: &autoscalingv1.Scale{}, source: &thingV2}, convert.ErrNotComparable},
		"of no version":    {odd{obj: object(t, plain)}, convert.ErrNotComparable},
		"neither":          {odd{}, convert.ErrNotComparable},
		"an error":         {odd{err: errCodec}, errCodec},
		"beside an object": {odd{obj: object(t, plain), source: &thingV2, err: errCodec}, errCodec},
	} {
		got, kind, unknown, err := decodeStored(&granular.StoredVersion{Codec: tc.codec}, []byte("{}"))
		if !errors.Is(err, tc.want) || (tc.want == nil) != (got != nil) || unknown != nil || (tc.want == nil) != (kind == thingV2) {
			t.Errorf("%s: %v of %s, unknown %v, %v", name, got, kind, unknown, err)
		}
	}
}
