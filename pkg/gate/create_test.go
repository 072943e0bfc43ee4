// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// TestStored checks which objects count as coming from storage.
func TestStored(t *testing.T) {
	with := func(uid string) *unstructured.Unstructured {
		u := object(t, plain)
		u.SetUID("")
		if uid != "" {
			u.SetUID("1")
		}
		return u
	}
	for name, tc := range map[string]struct {
		obj  runtime.Object
		want bool
	}{
		"nothing":               {nil, false},
		"an object with a UID":  {with("1"), true},
		"an object without one": {with(""), false},
		"a Go type":             {keeping("", ""), true},
		"an empty Go type":      {&keeper{}, false},
		"no object":             {&metav1.Status{}, false},
	} {
		if got := convert.Stored(tc.obj); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCreateHandedEmpty checks that a create is verified the same way if the handler passes nil
// as the old object, and if it passes an empty object. Defaults of the schema do not count as a
// change.
func TestCreateHandedEmpty(t *testing.T) {
	of := target(t, strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"trigger": {"type": "boolean",`, `"trigger": {"type": "boolean", "default": false,`, 1))
	for name, old := range map[string]runtime.Object{"nothing": nil, "an empty object": &unstructured.Unstructured{Object: map[string]any{}}} {
		for text, says := range map[string]string{plain: "", trigger: ".spec.trigger"} {
			ctx := requestContext("create")
			w := New(&grants{}).Begin(ctx, of)
			created := object(t, text)
			if err := verify(t, w, ctx, created, old); err != nil || says != "" {
				judged(t, err, nil, says)
			}
			if t.Failed() {
				t.Fatalf("of %s: %s", name, text)
			}
		}
	}
}

// TestCreateWithAnnotationBackedField checks that a create with an annotation that holds the
// value of a field is charged to the spec as well. If the kind has an excluded permission, the
// create is refused, whatever else the caller sets.
func TestCreateWithAnnotationBackedField(t *testing.T) {
	for name, tc := range map[string]struct {
		excluded string
		marked   bool
		allow    []string
		new      *keeper
		says     string
	}{
		"covered": {excluded: "false", marked: true,
			allow: []string{"granular:metadata", "granular:specification"}, new: keeping("b", "")},
		"by metadata alone": {excluded: "false", marked: true, allow: []string{"granular:metadata"},
			new:  keeping("b", ""),
			says: `cannot change .spec in namespace "n": needs the verb "granular:specification"`},
		"a plain annotation": {excluded: "false", marked: true, allow: []string{"granular:metadata"},
			new: keeping("", "x")},
		"excluded, marked": {excluded: "true", marked: true,
			allow: []string{"granular:metadata", "granular:specification", "granular:trigger"},
			new:   keeping("b", ""), says: "an annotation or label holds the value of a field"},
		"excluded, ordinary": {excluded: "true", new: keeping("b", ""),
			says: "an annotation or label holds the value of a field"},
		"excluded, ordinary, held": {excluded: "true", allow: []string{"granular:trigger"},
			new: keeping("b", ""), says: "an annotation or label holds the value of a field"},
		"excluded, plain annotations": {excluded: "true", new: keeping("", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("create")
			var marker *granular.Marker
			if tc.marked {
				ctx, marker = granular.WithMarker(ctx)
			}
			of := target(t, strings.Replace(strings.Replace(things, "EXCLUDED", tc.excluded, 1), `"trigger": {"type": "boolean",`, `"trigger": {"type": "boolean", "default": false,`, 1))
			of.Convertor = oldVersion{}
			w := New(&grants{allow: tc.allow}).Begin(ctx, of)
			tc.new.UID = ""
			tc.new.Spec.Size = 0
			judged(t, verify(t, w, ctx, tc.new, nil), marker, tc.says)
		})
	}
}

// unreadable is a Go type that can't be compared by the schema things, because its spec is a
// string.
type unreadable struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              string `json:"spec"`
}

func (u *unreadable) DeepCopyObject() runtime.Object { out := *u; return &out }

// copying is a convertor that copies the object.
type copying struct{ runtime.ObjectConvertor }

func (copying) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in.DeepCopyObject(), nil
}

// TestCreateThatCanNotBeCompared checks that a create is refused if the object can't be compared,
// as an update is.
func TestCreateThatCanNotBeCompared(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	of.Convertor = copying{}
	for _, uid := range []string{"", "1"} {
		created, old := &unreadable{Spec: "x"}, &unreadable{}
		old.UID = "1"
		old.UID = old.UID[:len(uid)]
		if set, err := kindOf(of).compare(of, change.All, created, old); err == nil {
			t.Errorf("compared with what has the UID %q: %v", uid, set)
		}
		ctx := requestContext("create")
		w := New(&grants{allow: []string{"granular:trigger"}}).Begin(ctx, of)
		judged(t, verify(t, w, ctx, created, old), nil, "its fields can't be verified")
	}
}
