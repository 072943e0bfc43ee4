// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/core"
)

// Types that must not be supported, because upstream's code panics for them or depends on more
// than the two values. owned is not supported once it has a function in equality.Semantic.
type (
	unexported struct{ a int }
	hidden     struct{ Below []unexported }
	embedded   struct{ unexported }
	float      struct{ F *float64 }
	anything   struct{ V any }
	function   struct{ F func() }
	itself     struct{ Next *itself }
	numbered   struct{ M map[int]string }
	selector   struct{ S labels.Selector }
	stamped    struct{ T time.Time }
	channel    struct{ C chan int }
	address    struct{ A uintptr }
	owned      struct{ A int }
)

func TestNotUnderstood(t *testing.T) {
	if !supported(reflect.TypeFor[owned]()) {
		t.Error("a number is not understood")
	}
	if err := upstream.Semantic.AddFunc(func(a, b owned) bool { return true }); err != nil {
		t.Fatal(err)
	}
	defer delete(upstream.Semantic.Equalities, reflect.TypeFor[owned]())
	for _, typ := range []reflect.Type{reflect.TypeFor[unexported](), reflect.TypeFor[hidden](), reflect.TypeFor[embedded](), reflect.TypeFor[float](),
		reflect.TypeFor[anything](), reflect.TypeFor[function](), reflect.TypeFor[itself](), reflect.TypeFor[numbered](), reflect.TypeFor[selector](),
		reflect.TypeFor[stamped](), reflect.TypeFor[channel](), reflect.TypeFor[address](), reflect.TypeFor[owned](), reflect.TypeFor[[]owned](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[unstructured.Unstructured](),
		reflect.TypeFor[map[string]any](), reflect.TypeFor[[]any](), timeType} {
		if supported(typ) {
			t.Errorf("%s is understood", typ)
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[core.Pod](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[apps.Deployment](), reflect.TypeFor[core.Node](), reflect.TypeFor[core.Service](),
		reflect.TypeFor[core.ConfigMap](), reflect.TypeFor[core.Secret](), reflect.TypeFor[map[string]string](), reflect.TypeFor[[]core.Container](),
		quantityType, reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]()} {
		if !supported(typ) {
			t.Errorf("%s is not understood", typ)
		}
	}
	not := 0
	for _, typ := range kinds {
		if !supported(typ) {
			not++
		}
	}
	if not > len(kinds)/6 {
		t.Errorf("%d of %d kinds are not understood", not, len(kinds))
	}
}

// TestFunctionsOfSemantic holds that exactly the types in want have a function in
// equality.Semantic, because supported relies on that. If upstream adds a function, check
// whether supported must treat its type in a special way.
func TestFunctionsOfSemantic(t *testing.T) {
	want := []reflect.Type{quantityType, reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](),
		fieldsV1, reflect.TypeFor[labels.Selector](), reflect.TypeFor[fields.Selector]()}
	for typ := range upstream.Semantic.Equalities {
		if !slices.Contains(want, typ) {
			t.Errorf("%s has a function of its own", typ)
		}
	}
	if len(upstream.Semantic.Equalities) != len(want) {
		t.Errorf("%d types have functions of their own", len(upstream.Semantic.Equalities))
	}
}
