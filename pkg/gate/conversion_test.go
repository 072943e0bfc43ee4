// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// gadget is a Go type for objects of the kind Thing. Some of its fields have defaults.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size    int  `json:"size"`
		Trigger bool `json:"trigger"`
		Rest    struct {
			A string `json:"a,omitempty"`
			B string `json:"b,omitempty"`
		} `json:"rest"`
	} `json:"spec"`
	Data string `json:"data"`
}

func (g *gadget) DeepCopyObject() runtime.Object { out := *g; return &out }

func newGadget(uid string, change func(g *gadget)) *gadget {
	out := &gadget{}
	out.Name = "t"
	if uid != "" {
		out.UID = "1"
	}
	if change != nil {
		change(out)
	}
	return out
}

// versions is a convertor that copies gadgets. As a scheme does, it also creates objects and sets
// defaults.
type versions struct {
	runtime.ObjectConvertor
	// fails is the size of the gadgets whose conversion fails.
	fails int
	makes func() (runtime.Object, error)
}

var errConversion = errors.New("no conversion")

func (v *versions) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	if g, ok := in.(*gadget); ok && g.Spec.Size == v.fails {
		return nil, errConversion
	}
	return in.DeepCopyObject(), nil
}

func (v *versions) Convert(in, out, _ any) error {
	from, ok := in.(*gadget)
	into, same := out.(*gadget)
	if !ok || !same || from.Spec.Size == v.fails {
		return errConversion
	}
	*into = *from
	return nil
}

func (v *versions) New(gvk.GroupVersionKind) (runtime.Object, error) { return v.makes() }

func (v *versions) Default(in runtime.Object) {
	if g, ok := in.(*gadget); ok {
		g.Spec.Size, g.Spec.Trigger = 3, true
	}
}

// onlyConverts is a convertor that can't create objects or set defaults, unlike a scheme.
type onlyConverts struct{ runtime.ObjectConvertor }

func (o onlyConverts) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	return o.ObjectConvertor.ConvertToVersion(in, to)
}

// TestConversionFails checks that a write is refused if the new or the old object can't be
// converted, in the first or in the second comparison, and also for a custom resource, which is
// normally not converted.
func TestConversionFails(t *testing.T) {
	// An object with a size over 1 changes two fields. After two observed changes, a marked
	// request needs a second comparison.
	sized := func(size int) runtime.Object {
		return newGadget("1", func(g *gadget) { g.Spec.Size, g.Spec.Trigger = size, size > 1 })
	}
	for name, tc := range map[string]struct {
		convertor                runtime.ObjectConvertor
		observed, was, final, is runtime.Object
	}{
		"the new object":               {&versions{fails: 9}, sized(9), sized(1), sized(9), sized(1)},
		"the old object":               {&versions{fails: 9}, sized(1), sized(9), sized(1), sized(9)},
		"the new object, later":        {&versions{fails: 9}, sized(2), sized(1), sized(9), sized(1)},
		"the old object, later":        {&versions{fails: 9}, sized(2), sized(1), sized(2), sized(9)},
		"the new object, by no scheme": {onlyConverts{&versions{fails: 9}}, sized(9), sized(1), sized(9), sized(1)},
		"the new object, of a new one": {&versions{fails: 9}, sized(9), nil, sized(9), nil},
		"of two types, later": {&versions{fails: 9}, sized(2), sized(1),
			&unreadable{ObjectMeta: metav1.ObjectMeta{UID: "1"}}, sized(1)},
		"there is none":                 {nil, sized(2), sized(1), sized(2), sized(1)},
		"there is none, of the old one": {nil, object(t, larger), sized(1), object(t, larger), sized(1)},
	} {
		for _, custom := range []bool{false, true} {
			of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
			if custom {
				of.Schema.Excludes = []gvk.GroupVersionKind{thing}
			}
			of.Convertor = tc.convertor
			if v, ok := tc.convertor.(*versions); ok {
				v.makes = func() (runtime.Object, error) { return &gadget{}, nil }
			}
			for _, marked := range []bool{false, true} {
				ctx := requestContext("update")
				var marker *granular.Marker
				if marked {
					ctx, marker = granular.WithMarker(ctx)
				}
				w := New(&grants{allow: []string{"granular:metadata", "granular:specification", "granular:trigger"}}).Begin(ctx, of)
				if err := w.Observe(ctx, tc.observed, tc.was); err != nil {
					t.Fatal(err)
				}
				err := w.Verify(ctx, tc.final, tc.is)
				if !marked && strings.HasSuffix(name, "later") {
					continue // the caller may change the one excluded field, so there is no second comparison
				}
				if judged(t, err, marker, "its fields can't be verified"); t.Failed() {
					t.Fatalf("%s, custom: %t, marked: %t", name, custom, marked)
				}
			}
		}
	}
	if set, err := noSchema.compare(target(t, ""), change.All, object(t, larger), object(t, plain)); !errors.Is(err, errNoSchema) {
		t.Errorf("without a schema: %v, %v", set, err)
	}
}

// TestCreatedByDefault checks that the defaults of a new object do not count as changes of its
// creator, and that all other fields do. If the defaults are not known, all fields count.
func TestCreatedByDefault(t *testing.T) {
	const metadata, specification, trigger = "granular:metadata", "granular:specification", "granular:trigger"
	scheme := func() runtime.ObjectConvertor {
		return &versions{makes: func() (runtime.Object, error) { return &gadget{}, nil }}
	}
	byDefault := func(g *gadget) { g.Spec.Size, g.Spec.Trigger = 3, true }
	for name, tc := range map[string]struct {
		convertor runtime.ObjectConvertor
		ordinary  bool
		set       func(g *gadget)
		allow     []string
		says      string
	}{
		"the defaults": {convertor: scheme(), set: byDefault, allow: []string{metadata}},
		"the defaults, and no metadata": {convertor: scheme(), set: byDefault,
			says: `needs the verb "granular:metadata"`},
		"another size": {convertor: scheme(),
			set: func(g *gadget) { byDefault(g); g.Spec.Size = 4 }, allow: []string{metadata}, says: ".spec.size"},
		"another size, held": {convertor: scheme(),
			set: func(g *gadget) { byDefault(g); g.Spec.Size = 4 }, allow: []string{metadata, specification}},
		"no trigger": {convertor: scheme(), set: func(g *gadget) { g.Spec.Size = 3 },
			allow: []string{metadata, specification}},
		"more, and where it is": {convertor: scheme(),
			set: func(g *gadget) { byDefault(g); g.Spec.Rest.B = "x" }, allow: []string{metadata},
			says: "cannot change .spec.rest.b in"},
		"ordinary, the defaults": {convertor: scheme(), ordinary: true, set: byDefault},
		"ordinary, another size": {convertor: scheme(), ordinary: true,
			set: func(g *gadget) { byDefault(g); g.Spec.Size = 4 }},
		"nobody knows": {convertor: onlyConverts{scheme()}, set: byDefault,
			allow: []string{metadata, specification}, says: trigger},
		"ordinary, nobody knows": {convertor: onlyConverts{scheme()}, ordinary: true, set: byDefault,
			says: trigger},
		"ordinary, nobody knows, held": {convertor: onlyConverts{scheme()}, ordinary: true, set: byDefault,
			allow: []string{trigger}},
		"ordinary, none can be made": {convertor: &versions{makes: func() (runtime.Object, error) { return &gadget{}, errConversion }},
			ordinary: true, set: byDefault, says: trigger},
		"what is made is of another type": {convertor: &versions{makes: func() (runtime.Object, error) { return &unreadable{}, nil }},
			set: byDefault, allow: []string{metadata, specification, trigger}, says: "its fields can't be verified"},
		"ordinary, made is of another type": {convertor: &versions{makes: func() (runtime.Object, error) { return &unreadable{}, nil }},
			ordinary: true, set: byDefault, allow: []string{trigger}, says: "its fields can't be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
			of.Convertor = tc.convertor
			ctx := requestContext("create")
			var marker *granular.Marker
			if !tc.ordinary {
				ctx, marker = granular.WithMarker(ctx)
			}
			w := New(&grants{allow: append(tc.allow, "get")}).Begin(ctx, of)
			created := newGadget("", tc.set)
			judged(t, verify(t, w, ctx, created, nil), marker, tc.says)
		})
	}
}

// TestAnnotationBackedStatus checks that a field that a status update keeps in an annotation is
// charged to the status, and that an annotation that conversion removes is found as well.
func TestAnnotationBackedStatus(t *testing.T) {
	of := target(t, strings.Replace(strings.Replace(things, "EXCLUDED", "false", 1), `"data":`, `"status": {"type": "object", "x-kubernetes-permission-verb": "status", "properties": {}}, "data":`, 1))
	of.Convertor = oldVersion{}
	was, is := keeping("a", ""), keeping("b", "")
	for subresource, want := range map[string]string{"": ".spec", "status": ".status", "scale": ".spec"} {
		of.Subresource = subresource
		shownWas, _ := convert.Versioned(of, was)
		shownIs, _ := convert.Versioned(of, is)
		set, err := kindOf(of).annotationBackedChanges(of, is, was, shownIs, shownWas)
		if err != nil || len(set) != 1 || set[0].Path().String() != want {
			t.Errorf("%q: %v, %v, wanted %s", subresource, set, err, want)
		}
	}
	with := func(annotations map[string]string) *keeper {
		return &keeper{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
	}
	hidden, shown := map[string]string{"moved": "1"}, map[string]string{"moved": "1"}
	if !backingChanged(metav1.Object.GetAnnotations, with(hidden), with(shown), with(nil), with(shown)) {
		t.Error("a key that was shown and is hidden now did not change")
	}
}
