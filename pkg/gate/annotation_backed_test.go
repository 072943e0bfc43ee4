// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/gate/convert"
)

// keeper is the internal type of a kind. Its field kept does not exist in the old version of the
// kind.
type keeper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size    int  `json:"size"`
		Trigger bool `json:"trigger"`
	} `json:"spec"`
	Data string `json:"data"`
	kept string
}

func (k *keeper) DeepCopyObject() runtime.Object {
	out := *k
	out.Annotations = maps.Clone(k.Annotations)
	return &out
}

// oldVersion converts to the old version. It stores the field kept, if it is set, in an
// annotation or in a label.
type oldVersion struct {
	runtime.ObjectConvertor
	label bool
}

func (v oldVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	from := in.(*keeper)
	out := *from
	if out.kept == "" {
		return &out, nil
	}
	if v.label {
		out.Labels = map[string]string{"kept": out.kept}
	} else {
		out.Annotations = maps.Clone(out.Annotations)
		out.Annotations["kept"] = out.kept
	}
	out.kept = ""
	return &out, nil
}

func keeping(kept, plain string) *keeper {
	out := &keeper{kept: kept}
	out.Name, out.UID = "t", "1"
	out.Annotations = map[string]string{"plain": plain}
	return out
}

// TestAnnotationBackedField checks that a change of an annotation which holds the value of a
// field is charged to the spec as well. If the kind has an excluded permission, the change is
// refused for every caller.
func TestAnnotationBackedField(t *testing.T) {
	for name, tc := range map[string]struct {
		excluded string
		marked   bool
		allow    []string
		new      *keeper
		// says is part of the refusal. idle is set if Begin returns nil, because nothing needs to
		// be verified.
		says string
		idle bool
	}{
		"covered": {excluded: "false", marked: true,
			allow: []string{"granular:metadata", "granular:specification"}, new: keeping("b", "")},
		"by metadata alone": {excluded: "false", marked: true, allow: []string{"granular:metadata"},
			new:  keeping("b", ""),
			says: `cannot change .spec in namespace "n": needs the verb "granular:specification"`},
		"by the specification alone": {excluded: "false", marked: true, allow: []string{"granular:specification"},
			new: keeping("b", ""), says: `cannot change .metadata`},
		"a plain annotation": {excluded: "false", marked: true, allow: []string{"granular:metadata"},
			new: keeping("a", "x")},
		"excluded, marked": {excluded: "true", marked: true,
			allow: []string{"granular:metadata", "granular:specification", "granular:trigger"},
			new:   keeping("b", ""), says: "an annotation or label holds the value of a field"},
		"excluded, ordinary": {excluded: "true", new: keeping("b", ""),
			says: "an annotation or label holds the value of a field"},
		"excluded, a plain annotation": {excluded: "true", new: keeping("a", "x")},
		"ordinary":                     {excluded: "false", new: keeping("b", ""), idle: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			to := target(t, strings.Replace(things, "EXCLUDED", tc.excluded, 1))
			to.Convertor = oldVersion{}
			w := New(&grants{allow: tc.allow}).Begin(ctx, to)
			if idle := w == nil; idle != tc.idle {
				t.Fatalf("nothing to do: %t", idle)
			}
			if tc.idle {
				return
			}
			old := keeping("a", "")
			err := verify(t, w, ctx, tc.new, old)
			judged(t, err, nil, tc.says)
		})
	}
}

// TestAnnotationBackedFieldIsAddedOrRemoved checks that a change is charged whether the old or
// the new object has the field in its metadata, and whether an annotation or a label holds the
// value.
func TestAnnotationBackedFieldIsAddedOrRemoved(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	for _, label := range []bool{false, true} {
		for _, tc := range []struct {
			old, new string
			charged  bool
		}{{"", "", false}, {"", "a", true}, {"a", "", true}, {"a", "a", false}, {"a", "b", true}} {
			of.Convertor = oldVersion{label: label}
			old, new := keeping(tc.old, ""), keeping(tc.new, "")
			versionedOld, _ := convert.Versioned(of, old)
			versionedNew, _ := convert.Versioned(of, new)
			set, err := kindOf(of).annotationBackedChanges(of, new, old, versionedNew, versionedOld)
			if err != nil || (len(set) > 0) != tc.charged {
				t.Errorf("from %q to %q, label %t: %v, %v", tc.old, tc.new, label, set, err)
			}
		}
		created := keeping("a", "")
		shown, _ := convert.Versioned(of, created)
		if set, err := kindOf(of).annotationBackedChanges(of, created, nil, shown, nil); err != nil || len(set) != 1 {
			t.Errorf("created, label %t: %v, %v", label, set, err)
		}
	}
}

// TestWithoutGeneration checks that only the template generation is left out of annotations, in a copy.
func TestWithoutGeneration(t *testing.T) {
	all := map[string]string{appsv1.DeprecatedTemplateGeneration: "1", "example.com/a": "b"}
	obj := &metav1.ObjectMeta{Annotations: all}
	if diff := cmp.Diff(map[string]string{"example.com/a": "b"}, withoutGeneration(obj)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(all) != 2 {
		t.Errorf("the object itself has changed: %v", all)
	}
}
