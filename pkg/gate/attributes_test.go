// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

// failsOn is a convertor that fails on some objects.
type failsOn struct {
	apiruntime.ObjectConvertor
	on func(obj apiruntime.Object) bool
}

func (f failsOn) ConvertToVersion(in apiruntime.Object, to apiruntime.GroupVersioner) (apiruntime.Object, error) {
	if f.on(in) {
		return nil, errConversion
	}
	return f.ObjectConvertor.ConvertToVersion(in, to)
}

// noContent is an object that can't be converted to JSON.
type noContent struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Never chan int
}

func (n *noContent) DeepCopyObject() apiruntime.Object { out := *n; return &out }

// TestAttributesNotCompared checks that a write is refused if its labels can't be compared:
// because the new or the old object can't be converted, or, for a kind without a permission tree,
// has no JSON. It makes no difference whether the server knows yet which labels are protected.
func TestAttributesNotCompared(t *testing.T) {
	const says = "its labels and annotations can't be compared"
	pods, things := endpoint(t, kindNamed("/v1/Pod"), "pods"), target(t, "")
	things.Convertor = asItIs{}
	sent, was := sentObject(t, podAt(bare)), stored(t, podAt(bare))
	bad := &noContent{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "1"}}
	for name, tc := range map[string]struct {
		callerChange, was apiruntime.Object
		converts          bool
	}{
		"the new object":                {callerChange: sent, was: was},
		"the old object":                {callerChange: was, was: sent},
		"the new object, without JSON":  {callerChange: bad, was: object(t, plain), converts: true},
		"the old object, without JSON":  {callerChange: object(t, plain), was: bad, converts: true},
		"a created object, and no JSON": {callerChange: bad, converts: true},
	} {
		for _, pending := range []bool{false, true} {
			of, fails := things, tc.callerChange
			if !tc.converts {
				of = pods
				if tc.callerChange == was {
					fails = tc.was
					fails.(metav1.Object).SetUID("2") // an object with a UID counts as stored
				}
				of.Convertor = failsOn{pods.Convertor, func(obj apiruntime.Object) bool { return obj == fails }}
			}
			ctx := contextOf("update", of, "n", "x")
			w := New(&questioned{}, WithProtection(&inForce{set: protect.New(env), pending: pending})).Begin(ctx, of)
			if judged(t, goThrough(t, w, ctx, tc.callerChange, tc.was), nil, says); t.Failed() {
				t.Fatalf("%s, not known what is protected: %t", name, pending)
			}
		}
	}
}

// TestAttributesNotObserved checks that everything that is about to be stored counts as the
// caller's change if that change could not be observed.
func TestAttributesNotObserved(t *testing.T) {
	for _, pending := range []bool{false, true} {
		of := endpoint(t, kindNamed("/v1/Pod"), "pods")
		observed := false
		of.Convertor = failsOn{of.Convertor, func(apiruntime.Object) bool { return !observed }}
		ctx := contextOf("update", of, "n", "x")
		w := New(&questioned{grants: grants{allow: []string{"get"}}}, WithProtection(&inForce{set: protect.New(env), pending: pending, arrives: true})).Begin(ctx, of)
		was := stored(t, podAt(bare))
		if err := w.Observe(ctx, sentObject(t, podAt(bare)), was); err != nil {
			t.Fatal(err)
		}
		observed = true
		judged(t, w.Verify(ctx, sentObject(t, podAt(envProd)), was), nil, "labels[env]")
	}
}

// TestTemplatesOfRevisions checks that the pod template in the data of a ControllerRevision is
// verified, although its schema does not describe the template. Data that can't be read count as
// a change of every label.
func TestTemplatesOfRevisions(t *testing.T) {
	ofPods := env
	ofPods.Resources = []protect.Resource{{Resource: "pods"}}
	of := endpoint(t, kindNamed("apps/v1/ControllerRevision"), "controllerrevisions")
	ctx := contextOf("update", of, "n", "x")
	place := func(metadata string) string {
		return at("apps/v1/ControllerRevision", `"data": {"spec": {"template": {"metadata": PLACE}}}`, metadata)
	}
	for _, holds := range []bool{true, false} {
		p, says := &inForce{set: protect.New(ofPods)}, ".data.spec.template.metadata.labels[env]"
		if holds {
			p.holds, says = []string{"ClusterRole/releaser"}, ""
		}
		w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
		if w == nil {
			t.Fatal("nothing to verify")
		}
		judged(t, goThrough(t, w, ctx, sentObject(t, place(envProd)), stored(t, place(bare))), nil, says)
	}
	read := &appsv1.ControllerRevision{Data: apiruntime.RawExtension{Raw: []byte(`{"metadata":{"labels":{"a":"b"}}}`)}}
	for name, tc := range map[string]struct {
		was, now any
		want     string
	}{
		"the same":        {read, read, ""},
		"created":         {nil, read, ".data.metadata.labels[a]"},
		"of another type": {read, &corev1.Pod{}, ".data"},
		"no JSON": {read, &appsv1.ControllerRevision{Data: apiruntime.RawExtension{Raw: []byte("{")}},
			".data"},
		"what was no JSON": {&appsv1.ControllerRevision{Data: apiruntime.RawExtension{Raw: []byte("{")}}, read,
			".data.metadata.labels[a]"},
		"what was of no type": {&corev1.Pod{}, read, ".data.metadata.labels[a]"},
	} {
		var got []string
		for _, a := range revised(schema.Label, nil, tc.was, tc.now) {
			got = append(got, a.String())
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: %q, wanted %q", name, text, tc.want)
		}
	}
}

// TestRollbackByEmptyAnnotation checks that the mere presence of the rollback annotation asks for
// a rollback, even if its value is empty.
func TestRollbackByEmptyAnnotation(t *testing.T) {
	asks := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appsv1.DeprecatedRollbackTo: ""}}}
	for name, tc := range map[string]struct {
		was, now any
		want     int
	}{
		"created":                 {nil, asks, 1},
		"set":                     {&appsv1.Deployment{}, asks, 1},
		"kept":                    {asks, asks, 0},
		"taken away":              {asks, &appsv1.Deployment{}, 0},
		"of what has no metadata": {nil, &metav1.Status{}, 0},
	} {
		if got := rolledBack(schema.Annotation, tc.was, tc.now); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCreatedWithoutSchema checks that protected labels of a kind without a permission tree are
// verified when an object is created, as they are when it is changed.
func TestCreatedWithoutSchema(t *testing.T) {
	of := target(t, "")
	ctx := requestContext("create")
	for _, holds := range []bool{true, false} {
		p, says := &inForce{set: protect.New(env)}, "labels[env]"
		if holds {
			p.holds, says = []string{"ClusterRole/releaser"}, ""
		}
		w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
		created := object(t, `{"metadata":{"labels":{"env":"prod"}}}`)
		created.SetUID("")
		judged(t, goThrough(t, w, ctx, created, nil), nil, says)
	}
	if got, err := byName(schema.Label, nil, nil, object(t, plain)); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
