// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package unpatched

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asMerge    = "application/merge-patch+json"

	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	definition  = definitions + "/boxes.example.com"
	boxes       = "/apis/example.com/v1/namespaces/default/boxes"
)

// schema has every permission extension, and fields without any.
const schema = `{
  "type": "object",
  "properties": {
    "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {
      "size": {"type": "integer", "default": 1, "minimum": 0},
      "danger": {"type": "string", "x-kubernetes-permission-verb": "example.com/danger", "x-kubernetes-permission-excluded": true},
      "template": {"type": "object", "x-kubernetes-permission-scope": "boxTemplate", "properties": {"a": {"type": "string"}}},
      "parts": {"type": "object", "x-kubernetes-permission-parameter-source": "part",
        "additionalProperties": {"type": "string", "x-kubernetes-permission-verb": "example.com/part",
          "x-kubernetes-permission-parameterized-by": "part", "x-kubernetes-permission-parameter-treatment": "slash-delimited-prefix"}},
      "others": {"type": "object", "x-kubernetes-permission-parameter-source": "other",
        "additionalProperties": {"type": "string", "x-kubernetes-permission-verb": "example.com/other",
          "x-kubernetes-permission-parameterized-by": "other", "x-kubernetes-permission-parameter-expression": "self.lowerAscii()"}}
    }}
  }
}`

const extension = "x-kubernetes-permission-"

func boxesDefinition(t *testing.T) []byte {
	t.Helper()
	var properties map[string]any
	if err := json.Unmarshal([]byte(schema), &properties); err != nil {
		t.Fatal(err)
	}
	return marshal(t, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "boxes.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "boxes", "kind": "Box"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": properties}}},
		},
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stripped returns the specification of a definition without the permission extensions.
func stripped(t *testing.T, text []byte) any {
	t.Helper()
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if strings.HasPrefix(key, extension) {
					delete(v, key)
				}
				strip(value)
			}
		case []any:
			for _, value := range v {
				strip(value)
			}
		}
	}
	strip(u.Object["spec"])
	return u.Object["spec"]
}

func count(text []byte) int { return bytes.Count(text, []byte(`"`+extension)) }

// TestBothServers checks what a server without patches does with the objects that our server
// has stored. It reads everything but the permission extensions. They stay in etcd until that
// server writes the definition. Neither server takes a field of the other for one of its own.
func TestBothServers(t *testing.T) {
	path := harness.Unpatched(t)
	endpoint := etcd.Start(t)
	ours, c := startOurs(t, endpoint)
	wanted := boxesDefinition(t)
	ours.send(t, http.MethodPost, definitions, asJSON, asJSON, wanted)
	harness.Until(t, "boxes are served", func() bool {
		code, _ := ours.try(t, http.MethodGet, boxes, asJSON, asJSON, nil)
		return code == http.StatusOK
	})
	ours.send(t, http.MethodPost, boxes, asJSON, asJSON, []byte(`{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"a"},"spec":{"size":3,"danger":"none","parts":{"x/y":"1"}}}`))
	box := ours.send(t, http.MethodGet, boxes+"/a", asJSON, asJSON, nil)

	theirs := startTheirs(t, path, endpoint, c)
	harness.Until(t, "boxes are served without patches", func() bool {
		code, _ := theirs.try(t, http.MethodGet, boxes, asJSON, asJSON, nil)
		return code == http.StatusOK
	})

	before := ours.send(t, http.MethodGet, definition, asJSON, asJSON, nil)
	if count(before) != count(wanted) {
		t.Fatalf("ours has %d extensions, wanted %d", count(before), count(wanted))
	}
	t.Run("reading", func(t *testing.T) {
		read := theirs.send(t, http.MethodGet, definition, asJSON, asJSON, nil)
		if n := count(read); n != 0 {
			t.Errorf("it has %d extensions", n)
		}
		if diff := cmp.Diff(stripped(t, before), stripped(t, read)); diff != "" {
			t.Errorf("(-ours +theirs):\n%s", diff)
		}
		if diff := cmp.Diff(string(box), string(theirs.send(t, http.MethodGet, boxes+"/a", asJSON, asJSON, nil))); diff != "" {
			t.Errorf("(-ours +theirs):\n%s", diff)
		}
		theirs.send(t, http.MethodPatch, boxes+"/a", asMerge, asJSON, []byte(`{"spec":{"size":4}}`))
	})
	t.Run("reading changes nothing", func(t *testing.T) {
		if after := ours.send(t, http.MethodGet, definition, asJSON, asJSON, nil); !bytes.Equal(before, after) {
			t.Errorf("(-before +after):\n%s", cmp.Diff(string(before), string(after)))
		}
	})
	t.Run("stored as JSON", func(t *testing.T) {
		// In JSON, an extension is stored under its name. In protobuf, a number would identify
		// it.
		value := stored(t, endpoint, "/registry/apiextensions.k8s.io/customresourcedefinitions/boxes.example.com")
		if !bytes.HasPrefix(value, []byte(`{"`)) || count(value) != count(wanted) {
			t.Errorf("stored is %.60q, with %d extensions", value, count(value))
		}
	})
	t.Run("sent as protobuf", func(t *testing.T) {
		// In protobuf, too, the other server ignores the extensions of our server, and loses
		// nothing else.
		sent := ours.send(t, http.MethodGet, definition, asJSON, asProtobuf, nil)
		read := theirs.send(t, http.MethodPut, definition+"?dryRun=All", asProtobuf, asJSON, sent)
		if n := count(read); n != 0 {
			t.Errorf("it has %d extensions", n)
		}
		if diff := cmp.Diff(stripped(t, before), stripped(t, read)); diff != "" {
			t.Errorf("(-ours +theirs):\n%s", diff)
		}
		if got := ours.send(t, http.MethodPut, definition+"?dryRun=All", asProtobuf, asJSON, sent); count(got) != count(wanted) {
			t.Errorf("ours reads %d extensions, wanted %d", count(got), count(wanted))
		}
		// Our server finds none of our fields in the protobuf of the other server.
		crd := decode(t, theirs.send(t, http.MethodGet, definition, asJSON, asProtobuf, nil))
		if n := count(marshal(t, crd)); n != 0 {
			t.Errorf("theirs seems to send %d extensions", n)
		}
	})
	for _, write := range []struct{ name, path, body string }{
		{"an annotation", definition, `{"metadata":{"annotations":{"a":"b"}}}`},
		// The controllers of a server also write the status of a new definition.
		{"a condition", definition + "/status", `{"status":{"conditions":[]}}`},
	} {
		t.Run("writing "+write.name+" drops them", func(t *testing.T) {
			bringBack(t, ours, wanted)
			theirs.send(t, http.MethodPatch, write.path, asMerge, asJSON, []byte(write.body))
			after := ours.send(t, http.MethodGet, definition, asJSON, asJSON, nil)
			if n := count(after); n != 0 {
				t.Errorf("ours still has %d extensions", n)
			}
			if diff := cmp.Diff(stripped(t, before), stripped(t, after)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
			bringBack(t, ours, wanted)
		})
	}
}

// bringBack applies the definition with its extensions again.
func bringBack(t *testing.T, ours *server, wanted []byte) {
	t.Helper()
	var again map[string]any
	if err := json.Unmarshal(wanted, &again); err != nil {
		t.Fatal(err)
	}
	spec := marshal(t, map[string]any{"spec": again["spec"]})
	if got := ours.send(t, http.MethodPatch, definition, asMerge, asJSON, spec); count(got) != count(wanted) {
		t.Fatalf("ours has %d extensions, wanted %d", count(got), count(wanted))
	}
}

func decode(t *testing.T, text []byte) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	object, err := runtime.Decode(apiextensionsscheme.Codecs.UniversalDeserializer(), text)
	if err != nil {
		t.Fatal(err)
	}
	return object.(*apiextensionsv1.CustomResourceDefinition)
}

// stored returns the value of a key in etcd.
func stored(t *testing.T, endpoint, key string) []byte {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := client.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Kvs) != 1 {
		t.Fatalf("%d values of %s", len(got.Kvs), key)
	}
	return got.Kvs[0].Value
}
