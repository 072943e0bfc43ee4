// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
)

func namespaceTarget() granular.Target {
	return granular.Target{Kind: corev1.SchemeGroupVersion.WithKind("Namespace"),
		Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme)}
}

func namespace(uid types.UID) *core.Namespace {
	out := &core.Namespace{}
	out.Name, out.UID = "n", uid
	return out
}

// converting hides all methods of a convertor except conversion, like the convertor of custom
// resources.
type converting struct{ runtime.ObjectConvertor }

func custom() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"spec": "x", "metadata": map[string]any{"uid": "u"}}}
}

// TestStoredObjects checks that objects with a UID count as stored.
func TestStoredObjects(t *testing.T) {
	for name, test := range map[string]struct {
		obj  runtime.Object
		want bool
	}{
		"nothing":                    {nil, false},
		"an empty object":            {&core.Namespace{}, false},
		"a name":                     {namespace(""), false},
		"a UID":                      {namespace("u"), true},
		"a custom resource":          {custom(), true},
		"a custom resource, not yet": {&unstructured.Unstructured{Object: map[string]any{}}, false},
		"what has no metadata":       {&metav1.Status{}, false},
	} {
		if got := Stored(test.obj); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPristine checks that Pristine returns an object with the defaults of its kind, or nil if
// the convertor can't create objects.
func TestPristine(t *testing.T) {
	defaults := &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	of := namespaceTarget()
	if diff := cmp.Diff(any(defaults), Pristine(of)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	unknown := of
	unknown.Kind.Kind = "Unknown"
	if got := Pristine(unknown); got != nil {
		t.Errorf("of an unknown kind it is %v", got)
	}
	// An empty ReplicationController has no template, and gets one with its defaults.
	controllers := of
	controllers.Kind.Kind = "ReplicationController"
	if got, ok := Pristine(controllers).(*corev1.ReplicationController); !ok || got.Spec.Template == nil || got.Spec.Template.Spec.DNSPolicy != corev1.DNSClusterFirst {
		t.Errorf("of a ReplicationController it is %v", got)
	}
	plain := of
	plain.Convertor = converting{of.Convertor}
	if got := Pristine(plain); got != nil {
		t.Errorf("where objects are only converted it is %v", got)
	}
}

// TestBefore checks that Before returns the stored object, or an object with defaults if none is
// stored.
func TestBefore(t *testing.T) {
	of, defaults := namespaceTarget(), &corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	stored := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
	for name, test := range map[string]struct {
		old  runtime.Object
		want any
	}{
		"nothing":           {nil, defaults},
		"an empty object":   {&core.Namespace{}, defaults},
		"what is stored":    {namespace("u"), stored},
		"a custom resource": {custom(), custom()},
	} {
		got, err := Before(of, test.old)
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	of.Convertor = nil
	if _, err := Before(of, namespace("u")); !errors.Is(err, ErrNotComparable) {
		t.Errorf("what nothing converts: %v", err)
	}
}

// TestVersioned checks that conversion returns an object in the version of the request or an
// error, with a Scratch and without one.
func TestVersioned(t *testing.T) {
	for name, by := range map[string]interface {
		New(target granular.Target, obj runtime.Object) (any, error)
		Old(target granular.Target, obj runtime.Object) (any, error)
	}{"none": (*Pool)(nil).Borrow(), "of a pool": (&Pool{}).Borrow()} {
		for side, versioned := range map[string]func(granular.Target, runtime.Object) (any, error){"new": by.New, "old": by.Old} {
			target := namespaceTarget()
			got, err := versioned(target, namespace("u"))
			if ns, ok := got.(*corev1.Namespace); err != nil || !ok || ns.UID != "u" || ns.APIVersion != "v1" {
				t.Errorf("%s scratch, %s: %v, %v", name, side, got, err)
			}
			mine := custom()
			if got, err := versioned(target, mine); err != nil || got != any(mine) {
				t.Errorf("%s scratch, %s: a custom resource becomes %v, %v", name, side, got, err)
			}
			if got, err := versioned(target, &core.PodLogOptions{}); err != nil || got == nil {
				t.Errorf("%s scratch, %s: options become %v, %v", name, side, got, err)
			}
			if _, err := versioned(target, &unknown{}); err == nil {
				t.Errorf("%s scratch, %s: converted what the scheme does not know", name, side)
			}
			target.Convertor = nil
			if _, err := versioned(target, namespace("u")); !errors.Is(err, ErrNotComparable) {
				t.Errorf("%s scratch, %s: converted by nobody: %v", name, side, err)
			}
		}
	}
}

// unknown is a type that is in no scheme.
type unknown struct{ core.Namespace }

func (u *unknown) DeepCopyObject() runtime.Object { return u }
