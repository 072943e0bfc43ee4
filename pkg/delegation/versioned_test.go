// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/apps"
)

// TestTemplateHash checks what the hash of a pod template depends on: all of it but the label of the deployment
// controller and an empty time of creation. The hash is that of the canonical JSON, and the object stays as it is.
func TestTemplateHash(t *testing.T) {
	hashOf := func(template map[string]any) any {
		object := map[string]any{"spec": map[string]any{"template": template}}
		before := runtime.DeepCopyJSON(object)
		hash := (&versionedObject{object: object}).templateHash()
		if diff := cmp.Diff(before, object); diff != "" {
			t.Errorf("the object was changed (-want +got):\n%s", diff)
		}
		return hash.Value()
	}
	of := func(metadata map[string]any) map[string]any {
		out := map[string]any{"spec": map[string]any{"image": "<a>"}}
		if metadata != nil {
			out["metadata"] = metadata
		}
		return out
	}
	labels := func(pairs ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	for name, tc := range map[string]struct {
		metadata map[string]any
		text     string // the canonical JSON
	}{
		"no metadata":            {nil, `{"spec":{"image":"<a>"}}`},
		"empty metadata":         {map[string]any{}, `{"metadata":{},"spec":{"image":"<a>"}}`},
		"no time":                {map[string]any{"creationTimestamp": nil}, `{"metadata":{},"spec":{"image":"<a>"}}`},
		"a time":                 {map[string]any{"creationTimestamp": "x"}, `{"metadata":{"creationTimestamp":"x"},"spec":{"image":"<a>"}}`},
		"a label":                {map[string]any{"labels": labels("a", "b")}, `{"metadata":{"labels":{"a":"b"}},"spec":{"image":"<a>"}}`},
		"the controller's label": {map[string]any{"labels": labels("pod-template-hash", "1")}, `{"metadata":{},"spec":{"image":"<a>"}}`},
		"both labels":            {map[string]any{"labels": labels("a", "b", "pod-template-hash", "1")}, `{"metadata":{"labels":{"a":"b"}},"spec":{"image":"<a>"}}`},
		"no labels":              {map[string]any{"labels": labels()}, `{"metadata":{},"spec":{"image":"<a>"}}`},
		"an annotation":          {map[string]any{"annotations": labels("pod-template-hash", "1")}, `{"metadata":{"annotations":{"pod-template-hash":"1"}},"spec":{"image":"<a>"}}`},
	} {
		sum := sha256.Sum256([]byte(tc.text))
		if got, want := hashOf(of(tc.metadata)), "sha256:"+hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: %v, want %s, the hash of %s", name, got, want, tc.text)
		}
	}
	if hash := (&versionedObject{}).templateHash(); !types.IsError(hash) {
		t.Errorf("without an object: %v", hash)
	}
}

// strange is a kind that is in no scheme.
type strange struct {
	metav1.TypeMeta
	metav1.ObjectMeta
}

func (s *strange) DeepCopyObject() runtime.Object { out := *s; return &out }

// TestContent checks that the content of an object is that which conditions see, and shares no memory with it.
func TestContent(t *testing.T) {
	own := custom("example.com/v1", map[string]any{"a": int64(1)})
	got, err := Content(own)
	if diff := cmp.Diff(own.Object, got); err != nil || diff != "" {
		t.Errorf("a custom resource: %v (-want +got):\n%s", err, diff)
	}
	got["spec"].(map[string]any)["a"] = int64(2)
	if own.Object["spec"].(map[string]any)["a"] != int64(1) {
		t.Error("a custom resource is changed with its content")
	}
	got, err = Content(&apps.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	if err != nil || got["kind"] != "Deployment" || got["apiVersion"] != "apps/v1" || got["metadata"].(map[string]any)["name"] != "web" {
		t.Errorf("a deployment: %v, %v", got, err)
	}
	if got, err := Content(nil); got != nil || err != nil {
		t.Errorf("of no object: %v, %v", got, err)
	}
	if got, err := Content(&strange{}); got != nil || err == nil {
		t.Errorf("of an unknown kind: %v, %v", got, err)
	}
}
