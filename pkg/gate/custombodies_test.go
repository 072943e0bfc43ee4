// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// FuzzCustomBodies decodes a custom resource from CBOR, which has more sorts of values than JSON, and again from the
// JSON in which it is stored. The gate decides alike about both, with each set of verbs. A caller without any verb
// changes nothing that is stored.
func FuzzCustomBodies(f *testing.F) {
	for _, value := range []any{
		map[string]any{"size": 1, "trigger": false}, map[string]any{"size": 1.0, "trigger": nil}, map[string]any{"size": []byte("x")},
		map[string]any{"size": uint64(1 << 63)}, map[string]any{"other": map[string]any{"a": []any{1.5, -1, "s", true}}}, "text", nil,
	} {
		text, err := direct.Marshal(map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "t", "uid": "1"}, "spec": value, "data": "x",
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	decoder := cbor.NewSerializer(unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper())
	kinds := target(f, strings.Replace(things, "EXCLUDED", "true", 1))
	verbs := []string{"granular:metadata", "granular:specification", "granular:size", "granular:trigger"}
	f.Fuzz(func(t *testing.T, text []byte) {
		decoded, _, err := decoder.Decode(text, nil, &unstructured.Unstructured{})
		if err != nil {
			return
		}
		sent := decoded.(*unstructured.Unstructured)
		stored, err := json.Marshal(sent.Object)
		if err != nil {
			return // it can't be stored
		}
		for held := range 1 << len(verbs) {
			caller := &grants{allow: []string{"granular"}}
			for i, verb := range verbs {
				if held>>i&1 == 1 {
					caller.allow = append(caller.allow, verb)
				}
			}
			answer := allowsPut(t, caller, kinds, sent)
			if again := allowsPut(t, caller, kinds, decodedJSON(t, stored)); again != answer {
				t.Fatalf("%q: allowed: %t as CBOR, %t as %s", caller.allow, answer, again, stored)
			}
			if held == 0 && answer {
				var data, spec any = sent.Object["data"], sent.Object["spec"]
				if text, err := json.Marshal([]any{data, spec}); err != nil || string(text) != `["x",{"size":1,"trigger":false}]` {
					t.Fatalf("stored without a verb: %s", stored)
				}
			}
		}
	})
}

// allowsPut reports whether a caller may replace the plain object by another one.
func allowsPut(t *testing.T, caller *grants, kinds granular.Target, sent *unstructured.Unstructured) bool {
	ctx, _ := granular.WithMarker(requestContext("update"))
	w, old := New(caller).Begin(ctx, kinds), decodedJSON(t, []byte(plain))
	old.SetGroupVersionKind(thing)
	old.SetName("t")
	old.SetUID("1")
	sent = sent.DeepCopy()
	if err := w.Observe(ctx, sent, old); err != nil {
		return false
	}
	return w.Verify(ctx, sent, old) == nil
}

func decodedJSON(t *testing.T, text []byte) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}
