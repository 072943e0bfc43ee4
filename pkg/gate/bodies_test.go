// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apiserver/pkg/authorization/granular"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
)

// storedPod returns the pod that the bodies change.
func storedPod() *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{
		NodeName: "n1", Volumes: []corev1.Volume{{Name: "v"}},
		Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/app:v1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}}}},
	}}
	p.APIVersion, p.Kind, p.Name, p.Namespace, p.UID = "v1", "Pod", "p", "n", "1"
	p.Labels = map[string]string{"super.safe.com/label": "a", "app": "web"}
	p.Annotations = map[string]string{"super.safe.com/note": "a", "other.example.com/note": "b"}
	p.Finalizers = []string{"super.safe.com/keep", "other.example.com/keep"}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	legacyscheme.Scheme.Default(p)
	return p
}

// formats are those of a request's body. Each decodes a body into a pod as upstream's handlers do. patch is the type
// of a patch.
var formats = []struct {
	patch  types.PatchType
	decode func(old, body []byte, into *corev1.Pod) error
}{
	{"", func(_, body []byte, into *corev1.Pod) error { return json.Unmarshal(body, into) }},
	{"", func(_, body []byte, into *corev1.Pod) error {
		return decodePod(protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme), body, into)
	}},
	{"", func(_, body []byte, into *corev1.Pod) error {
		return decodePod(cbor.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme), body, into)
	}},
	{types.JSONPatchType, func(old, body []byte, into *corev1.Pod) error {
		patch, err := jsonpatch.DecodePatch(body)
		if err != nil {
			return err
		}
		return decodePatched(into)(patch.Apply(old))
	}},
	{types.MergePatchType, func(old, body []byte, into *corev1.Pod) error {
		return decodePatched(into)(jsonpatch.MergePatch(old, body))
	}},
	{types.StrategicMergePatchType, func(old, body []byte, into *corev1.Pod) error {
		return decodePatched(into)(strategicpatch.StrategicMergePatch(old, body, corev1.Pod{}))
	}},
}

func decodePod(decoder runtime.Decoder, body []byte, into *corev1.Pod) error {
	object, _, err := decoder.Decode(body, nil, nil)
	if p, ok := object.(*corev1.Pod); ok {
		*into = *p
	} else if err == nil {
		err = errors.New("not a pod")
	}
	return err
}

func decodePatched(into *corev1.Pod) func(text []byte, err error) error {
	return func(text []byte, err error) error {
		if err != nil {
			return err
		}
		return json.Unmarshal(text, into)
	}
}

// body is the body of a request in the format of that number.
type body struct {
	format byte
	text   []byte
}

// changingBodies returns bodies of each format that change the stored pod.
func changingBodies(t testing.TB, stored *corev1.Pod) []body {
	changed := stored.DeepCopy()
	changed.Labels["super.safe.com/label"], changed.Spec.Containers[0].Image = "b", "other"
	var inProtobuf strings.Builder
	if err := protobuf.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme).Encode(changed, &inProtobuf); err != nil {
		t.Fatal(err)
	}
	inCBOR, err := direct.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(changed)
	if err != nil {
		t.Fatal(err)
	}
	return []body{
		{0, inJSON},
		{1, []byte(inProtobuf.String())},
		{2, inCBOR},
		{3, []byte(`[{"op":"replace","path":"/metadata/labels/super.safe.com~1label","value":"b"},{"op":"remove","path":"/spec/volumes"}]`)},
		{3, []byte(`[{"op":"copy","from":"/spec/nodeName","path":"/metadata/labels/super.safe.com~1label"}]`)},
		{4, []byte(`{"metadata":{"labels":{"super.safe.com/label":null},"finalizers":["other.example.com/keep"]},"status":{"phase":"Failed"}}`)},
		{5, []byte(`{"metadata":{"labels":{"$patch":"replace"}},"spec":{"containers":[{"name":"c","$patch":"delete"},{"name":"d"}]}}`)},
		{5, []byte(`{"spec":{"$setElementOrder/containers":[{"name":"c"}],"$retainKeys":["containers"],` +
			`"containers":[{"name":"c","image":"x"}]}}`)},
	}
}

// TestBodies sends bodies of all formats for callers with each set of verbs.
func TestBodies(t *testing.T) {
	stored, pods := storedPod(), podTarget(t)
	allowed, refused := 0, 0
	for _, b := range changingBodies(t, stored) {
		for held := range byte(1 << len(parts)) {
			if known, err := b.judge(t, pods, stored, held); !known {
				t.Errorf("format %d: not a pod: %s", b.format, b.text)
			} else if err == nil {
				allowed++
			} else {
				refused++
			}
		}
	}
	if allowed < 20 || refused < 100 {
		t.Errorf("%d allowed, %d refused", allowed, refused)
	}
}

// FuzzBodies sends bodies of all formats. In its corpus each body has few sets of verbs, because the first run of each
// entry is slow in so large a program.
func FuzzBodies(f *testing.F) {
	stored, pods := storedPod(), podTarget(f)
	for _, b := range changingBodies(f, stored) {
		f.Add(b.format, byte(0b1), b.text)
		f.Add(b.format, byte(0b10101), b.text)
	}
	f.Fuzz(func(t *testing.T, format, held byte, text []byte) {
		body{format % byte(len(formats)), text}.judge(t, pods, stored, held)
	})
}

// judge sends the body for a caller with the held parts, and takes away from both objects, as JSON, what these parts
// cover. Where the gate allows the write, the rest must be equal, and where the rest is equal it must allow the write.
// It returns false if the body makes no pod, and the error of the gate.
func (b body) judge(t *testing.T, pods granular.Target, stored *corev1.Pod, held byte) (known bool, err error) {
	f, next := formats[b.format], &corev1.Pod{}
	old, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	if err = f.decode(old, b.text, next); err != nil {
		return false, nil
	}
	legacyscheme.Scheme.Default(next)
	newPod, oldPod := &core.Pod{}, &core.Pod{}
	if legacyscheme.Scheme.Convert(next, newPod, nil) != nil || legacyscheme.Scheme.Convert(stored, oldPod, nil) != nil {
		return false, nil
	}
	left, want := uncovered(t, newPod, held), uncovered(t, oldPod, held) // what is compared may share memory
	caller := &grants{allow: []string{"granular"}}
	for i, part := range parts {
		if held>>i&1 == 1 {
			caller.allow = append(caller.allow, part.verb)
		}
	}
	ctx := apirequest.WithRequestInfo(requestContext("update"), &apirequest.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIVersion: "v1", Resource: "pods", Namespace: "n", Name: "p",
	})
	ctx, _ = granular.WithMarker(ctx)
	w := New(caller).Begin(ctx, pods)
	if f.patch != "" {
		if err = w.Patch(ctx, f.patch, b.text); err != nil {
			return true, err // it copies a value
		}
	}
	if err = w.Observe(ctx, newPod, oldPod); err == nil {
		err = w.Verify(ctx, newPod, oldPod)
	}
	switch diff := cmp.Diff(want, left); {
	case err == nil && diff != "":
		t.Errorf("%q may change %s", caller.allow, diff)
	case err != nil && diff == "":
		t.Errorf("%q: %v", caller.allow, err)
	}
	return true, err
}

// parts are verbs, and what each covers of a pod.
var parts = []struct {
	verb string
	drop func(p *corev1.Pod)
}{
	{"granular:label(super.safe.com)", func(p *corev1.Pod) { dropDomain(p.Labels) }},
	{"granular:annotation(super.safe.com)", func(p *corev1.Pod) { dropDomain(p.Annotations) }},
	{"granular:metadata", func(p *corev1.Pod) { p.ObjectMeta = metav1.ObjectMeta{} }},
	{"granular:specification", func(p *corev1.Pod) { p.Spec = corev1.PodSpec{} }},
	{"granular:status", func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }},
}

func dropDomain(all map[string]string) {
	for key := range all {
		if strings.HasPrefix(key, "super.safe.com/") {
			delete(all, key)
		}
	}
}

// uncovered returns what the held parts leave of a pod, as JSON, without what the server itself writes.
func uncovered(t *testing.T, in *core.Pod, held byte) map[string]any {
	p := &corev1.Pod{}
	if err := legacyscheme.Scheme.Convert(in, p, nil); err != nil {
		t.Skip()
	}
	p.TypeMeta = metav1.TypeMeta{}
	for i, part := range parts {
		if held>>i&1 == 1 {
			part.drop(p)
		}
	}
	p.UID, p.ResourceVersion, p.Generation, p.ManagedFields, p.SelfLink = "", "", 0, nil, ""
	p.CreationTimestamp, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
