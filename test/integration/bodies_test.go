// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/test/integration/harness"
)

// mediaTypes are the content types of request bodies.
var mediaTypes = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeCBOR,
	runtime.ContentTypeProtobuf}

// encoded encodes an object in a media type. Only built-in kinds have a protobuf form.
func encoded(t *testing.T, object runtime.Object, mediaType string) []byte {
	t.Helper()
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
	info, ok := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("nothing encodes %s", mediaType)
	}
	encoder := info.Serializer
	var out bytes.Buffer
	if err := encoder.Encode(object, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBodies checks that the server asks for the same permission whatever the content type of
// the body. A caller that may not get the object sees its data in no format.
func TestBodies(t *testing.T) {
	s := onStage(t)
	const configMaps = "/api/v1/namespaces/default/configmaps"
	for i, mediaType := range mediaTypes {
		t.Run("PUT "+mediaType, func(t *testing.T) {
			for _, accept := range mediaTypes {
				path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: body}, data: {a: what-nobody-reads}}`)
				wanted := &corev1.ConfigMap{}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live, wanted); err != nil {
					t.Fatal(err)
				}
				wanted.Labels = map[string]string{"a.example.com/x": "1"}
				body := encoded(t, wanted, mediaType)
				a := s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
					return s.SendAccept(t, user, http.MethodPut, path, mediaType, accept, body)
				})
				if !bytes.Contains(a.Body, []byte(wanted.Name)) || bytes.Contains(a.Body, []byte("what-nobody-reads")) {
					t.Errorf("as %s: %q", accept, a.Body)
				}
			}
		})
		t.Run("POST "+mediaType, func(t *testing.T) {
			name := fmt.Sprintf("posted-%d", i)
			body := encoded(t, &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Data:       map[string]string{"a": "1"},
			}, mediaType)
			for _, grants := range [][]string{
				{"granular:metadata", "granular:data", "granular"},
				{"granular:data", "granular:metadata", "granular"},
			} {
				says := map[string]string{"granular:metadata": "cannot change .metadata.name",
					"granular:data": "cannot change .data"}[grants[0]]
				s.Twins(t, configMaps+"/"+name, says, grants, func(user string) harness.Answer {
					return s.Send(t, user, http.MethodPost, configMaps, mediaType, body)
				})
				s.MustSend(t, http.MethodDelete, configMaps+"/"+name, "", nil)
			}
		})
	}
}

// TestBodiesOfCustomResources checks the same as TestBodies for custom resources, which have no
// Go type.
func TestBodiesOfCustomResources(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	for _, mediaType := range mediaTypes[:3] {
		t.Run(mediaType, func(t *testing.T) {
			path, live := s.CreateObject(t, `{apiVersion: corpus.example.com/v1, kind: Gadget, metadata: {name: body}, spec: {size: 1, colour: what-nobody-reads}}`)
			wanted := &unstructured.Unstructured{Object: live}
			wanted.SetLabels(map[string]string{"a.example.com/x": "1"})
			a := s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
				return s.SendAccept(t, user, http.MethodPut, path, mediaType, mediaType, encoded(t, wanted, mediaType))
			})
			if !bytes.Contains(a.Body, []byte(wanted.GetName())) || bytes.Contains(a.Body, []byte("what-nobody-reads")) {
				t.Errorf("%q", a.Body)
			}
		})
	}
}

// TestPatchesInCBOR checks that an apply patch in CBOR needs the permission for the field that
// it changes.
func TestPatchesInCBOR(t *testing.T) {
	s := onStage(t)
	path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: body}, data: {a: "1"}}`)
	applied := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": live["metadata"].(map[string]any)["name"], "namespace": "default", "labels": map[string]any{"a.example.com/x": "1"},
	}}}
	s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
		return s.Send(t, user, http.MethodPatch, path+"?force=true&fieldManager=cbor", "application/apply-patch+cbor", encoded(t, applied, runtime.ContentTypeCBOR))
	})
}

// TestManagedFieldsInEveryForm checks that a reset of managed fields needs a permission in
// every content type. Protobuf can't express a list that is present but empty, so there only a
// list with an empty entry is sent.
func TestManagedFieldsInEveryForm(t *testing.T) {
	s := onStage(t)
	reset := func(t *testing.T, mediaType string, body func(live map[string]any) []byte) {
		path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: body}, data: {a: "1"}}`)
		data := body(live)
		s.Twins(t, path, "cannot change .metadata.managedFields", []string{"granular:metadata", "granular"}, func(user string) harness.Answer {
			return s.Send(t, user, http.MethodPut, path, mediaType, data)
		})
		if now := harness.Metadata(t, s.LiveObject(t, path))["managedFields"]; now != nil {
			t.Errorf("it was no reset: %v", now)
		}
	}
	for _, mediaType := range mediaTypes[:3] {
		for name, list := range map[string][]any{"an empty list": {}, "an empty entry": {map[string]any{}}} {
			t.Run(name+" "+mediaType, func(t *testing.T) {
				reset(t, mediaType, func(live map[string]any) []byte {
					live["metadata"].(map[string]any)["managedFields"] = list
					return encoded(t, &unstructured.Unstructured{Object: live}, mediaType)
				})
			})
		}
	}
	t.Run("an empty entry "+runtime.ContentTypeProtobuf, func(t *testing.T) {
		reset(t, runtime.ContentTypeProtobuf, func(live map[string]any) []byte {
			sent := &corev1.ConfigMap{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live, sent); err != nil {
				t.Fatal(err)
			}
			sent.ManagedFields = []metav1.ManagedFieldsEntry{{}}
			return encoded(t, sent, runtime.ContentTypeProtobuf)
		})
	})
}

// TestForce checks that an apply with force takes a field over from another manager only if the
// caller holds the permission for the field. Without force, the answer is a conflict in any
// case.
func TestForce(t *testing.T) {
	s := onStage(t)
	path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: forced, labels: {a.example.com/x: theirs}}}`)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"a.example.com/x":"mine"}}}`, live["metadata"].(map[string]any)["name"])
	apply := func(user, query string) harness.Answer {
		return s.Send(t, user, http.MethodPatch, path+"?fieldManager=other"+query, harness.ContentTypes["apply"], body)
	}
	s.Callers.AddCaller("unforced", "granular", "granular:label(a.example.com)", "get")
	if a := apply("unforced", ""); a.Code != http.StatusConflict || !strings.Contains(a.Message(), "conflict") {
		t.Errorf("without force, with the permission: %s", a)
	}
	s.Callers.AddCaller("unforced", "granular")
	if a := apply("unforced", ""); a.Code != http.StatusConflict {
		t.Errorf("without force, without the permission: %s", a)
	}
	s.Twins(t, path, "cannot change .metadata.labels[a.example.com/x]", []string{"granular:label(a.example.com)", "granular"}, func(user string) harness.Answer {
		return apply(user, "&force=true")
	})
	s.Callers.AddCaller("forced", "granular")
	if a := apply("forced", "&force=true"); a.Code != http.StatusOK {
		t.Errorf("what is so already can be applied by who may not change it: %s", a)
	}
}
