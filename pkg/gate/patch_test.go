// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/gate/redact"
)

// TestKeysOfAPatch checks, for each kind of patch, that its keys are known, and whether it is an apply, whose new
// object must have them too.
func TestKeysOfAPatch(t *testing.T) {
	binary, err := direct.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{"env": "prod"}}})
	if err != nil {
		t.Fatal(err)
	}
	const merge = `{"metadata":{"labels":{"env":"prod"}}}`
	for kind, tc := range map[types.PatchType]struct {
		body    string
		applied bool
	}{
		types.JSONPatchType:           {`[{"op":"add","path":"/metadata/labels/env","value":"prod"}]`, false},
		types.MergePatchType:          {merge, false},
		types.StrategicMergePatchType: {merge, false},
		types.ApplyYAMLPatchType:      {"metadata:\n  labels:\n    env: prod\n", true},
		types.ApplyCBORPatchType:      {string(binary), true},
	} {
		ctx, _ := granular.WithMarker(requestContext("patch"))
		w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1))).(*write)
		if err := w.Patch(ctx, kind, []byte(tc.body)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if w.patch == nil || !w.patch.Has("env") || w.patch.Has("other") || w.patch.Applied() != tc.applied {
			t.Errorf("%s: the keys are those of %+v", kind, w.patch)
		}
	}
}

// TestKeysOnThePath checks that a patch has a label only if it also has the keys of the elements on the path to it,
// so that no message names an element that the caller did not send.
func TestKeysOnThePath(t *testing.T) {
	element := func(keys ...string) change.Path {
		return change.Path{{Field: "templates"}, {Keys: keys}, {Field: "metadata"}, {Field: "labels"}}
	}
	r := &requestKeys{write: &write{callerChange: callerChange{patch: redact.NewBody([]byte(`{"templates":[{"name":"a","port":"b","env":"prod"}]}`), false)}}}
	for name, tc := range map[string]struct {
		attribute change.Attribute
		want      bool
	}{
		"of the root":             {change.Attribute{Key: "env"}, true},
		"another label":           {change.Attribute{Key: "net"}, false},
		"of the element":          {change.Attribute{Key: "env", Path: element("a")}, true},
		"with two keys":           {change.Attribute{Key: "env", Path: element("a", "b")}, true},
		"with another second key": {change.Attribute{Key: "env", Path: element("a", "c")}, false},
		"of another element":      {change.Attribute{Key: "env", Path: element("z")}, false},
		"not readable":            {change.Attribute{Unreadable: true, Path: element("a")}, true},
		"not readable, another":   {change.Attribute{Unreadable: true, Path: element("z")}, false},
	} {
		tc.attribute.Kind = schema.Label
		if got := r.has(&tc.attribute); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

// TestKeysOfAnApply checks that an apply has a label only if the new object has it too: the configuration can have
// its key in another place.
func TestKeysOfAnApply(t *testing.T) {
	env := change.Attribute{Kind: schema.Label, Key: "env", New: change.Value{Text: "prod", Present: true}}
	removed := change.Attribute{Kind: schema.Label, Key: "env", Old: env.New}
	for name, tc := range map[string]struct {
		observed change.Attributes
		applied  bool
		want     bool
	}{
		"a patch":                        {nil, false, true},
		"an apply that sets it":          {change.Attributes{env}, true, true},
		"an apply that has it elsewhere": {nil, true, false},
		"an apply that removes it":       {change.Attributes{removed}, true, false},
	} {
		body := redact.NewBody([]byte(`{"env":"prod"}`), false)
		if tc.applied {
			body = redact.NewAppliedBody([]byte(`{"env":"prod"}`), false)
		}
		r := &requestKeys{write: &write{callerChange: callerChange{patch: body}}, observed: tc.observed}
		if got := r.has(&env); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
