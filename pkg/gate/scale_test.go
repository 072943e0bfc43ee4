// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
)

const scaleModel = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "autoscaling", "version": "v1", "kind": "Scale"}],
  "properties": {
    "metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata"},
    "spec": {"type": "object", "x-kubernetes-permission-verb": "specification", "properties": {"replicas": {"type": "integer", "x-kubernetes-permission-verb": "replicas"}}},
    "status": {"type": "object"}
  }
}`

// asItIs is a convertor that returns its objects unchanged.
type asItIs struct{ runtime.ObjectConvertor }

func (asItIs) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func scaleTarget(t *testing.T, model string, path ...string) granular.Target {
	t.Helper()
	out := target(t, model)
	out.Subresource = "scale"
	out.Scale = &granular.Scale{Kind: thing, Path: path}
	out.Kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	out.Convertor = asItIs{}
	out.Schema = granular.NewSchema(models(t, map[string]string{"thing": model, "scale": scaleModel}))
	return out
}

func scaleTo(replicas int32) *autoscalingv1.Scale {
	out := &autoscalingv1.Scale{}
	out.Name, out.UID = "t", "1"
	out.Spec.Replicas = replicas
	return out
}

// TestScaleOfCustomResource checks which permissions a write to the scale of a custom resource
// needs.
func TestScaleOfCustomResource(t *testing.T) {
	excluded := strings.Replace(things, "EXCLUDED", "true", 1)
	included := strings.Replace(things, "EXCLUDED", "false", 1)
	malformed := strings.Replace(excluded, `"size"}`, `"Not A Permission"}`, 1)
	malformedIncluded := strings.Replace(included, `"size"}`, `"Not A Permission"}`, 1)
	inMap := strings.Replace(things, `"trigger": {`, `"pools": {"type": "object", "additionalProperties": {"type": "object", "properties": {"trigger": {`, 1)
	inMap = strings.Replace(strings.Replace(inMap, "EXCLUDED}", "true}}}}", 1), "EXCLUDED", "true", 1)
	const trigger = "granular:trigger"
	for name, tc := range map[string]struct {
		model  string
		path   []string
		closed bool
		marked bool
		allow  []string
		// was is -1 if the field was not set. The stored scale then shows 0.
		was, to int32
		idle    bool
		says    string
		asked   []string
	}{
		"ordinary, another field is excluded": {model: excluded, path: []string{"spec", "size"}, to: 2,
			idle: true},
		"ordinary, nothing is": {model: included, path: []string{"spec", "trigger"}, to: 2,
			idle: true},
		"ordinary, the field is excluded": {model: excluded, path: []string{"spec", "trigger"}, to: 2,
			says:  `cannot change .spec.replicas in namespace "n" through "things/scale": needs the verb "granular:trigger"`,
			asked: []string{trigger}},
		"ordinary, below the field that is excluded": {model: excluded, path: []string{"spec", "trigger", "x"},
			to: 2, says: `needs the verb "granular:trigger"`, asked: []string{trigger}},
		"ordinary, excluded and covered": {model: excluded, path: []string{"spec", "trigger"},
			allow: []string{trigger}, to: 2, asked: []string{trigger}},
		"ordinary, excluded and unchanged": {model: excluded, path: []string{"spec", "trigger"}, was: 2,
			to: 2},
		"ordinary, excluded, set for the first time": {model: excluded, path: []string{"spec", "trigger"}, was: -1,
			to: 0, says: `needs the verb "granular:trigger"`, asked: []string{trigger}},
		"ordinary, excluded in the values of a map": {model: inMap,
			path: []string{"spec", "pools", "main", "trigger"}, to: 2, says: `needs the verb "granular:trigger"`,
			asked: []string{trigger}},
		"ordinary, malformed, something excluded": {model: malformed, path: []string{"spec", "size"}, to: 2,
			says: "its fields can't be verified"},
		"ordinary, malformed, nothing excluded": {model: malformedIncluded, path: []string{"spec", "size"},
			to: 2, idle: true},
		"marked, covered": {model: excluded, path: []string{"spec", "size"},
			marked: true, allow: []string{"granular:replicas"}, to: 2,
			asked: []string{"granular:specification", "granular:replicas"}},
		"marked, by the resource's permission": {model: excluded, path: []string{"spec", "size"},
			marked: true, allow: []string{"granular:size"}, to: 2,
			says:  `needs one of the verbs "granular:replicas", "granular:specification"`,
			asked: []string{"granular:specification", "granular:replicas"}},
		"marked, set for the first time": {model: excluded, path: []string{"spec", "size"},
			marked: true, was: -1, to: 0, says: `cannot change .spec.replicas`,
			asked: []string{"granular:specification", "granular:replicas"}},
		"marked, excluded": {model: excluded, path: []string{"spec", "trigger"},
			marked: true, allow: []string{"granular:replicas"}, to: 2, says: `needs the verb "granular:trigger"`,
			asked: []string{"granular:specification", "granular:replicas", trigger}},
		"marked, excluded, both held": {model: excluded, path: []string{"spec", "trigger"},
			marked: true, allow: []string{"granular:specification", trigger}, to: 2,
			asked: []string{"granular:specification", trigger}},
		"marked, excluded, the scale's is missing": {model: excluded, path: []string{"spec", "trigger"},
			marked: true, allow: []string{trigger}, to: 2,
			says:  `needs one of the verbs "granular:replicas", "granular:specification"`,
			asked: []string{"granular:specification", "granular:replicas"}},
		"marked, closed": {model: included, path: []string{"data"}, closed: true,
			marked: true, allow: []string{"granular:specification"}, to: 2, says: "cannot change .spec.replicas in namespace \"n\" through \"things/scale\": no permission covers this field",
			asked: []string{"granular:specification"}},
		"marked, closed, unchanged": {model: included, path: []string{"data"}, closed: true, marked: true, was: 2, to: 2},
		"marked, not closed": {model: included, path: []string{"data"},
			marked: true, allow: []string{"granular:specification"}, to: 2, asked: []string{"granular:specification"}},
		"ordinary, closed": {model: included, path: []string{"data"}, closed: true, to: 2, idle: true},
		"marked, malformed": {model: malformedIncluded, path: []string{"spec", "size"},
			marked: true, allow: []string{"granular:specification"}, to: 2, says: "its fields can't be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			var marker *granular.Marker
			if tc.marked {
				ctx, marker = granular.WithMarker(ctx)
			}
			g := &grants{allow: tc.allow}
			target := scaleTarget(t, tc.model, tc.path...)
			target.Scale.Closed = tc.closed
			w := New(g).Begin(ctx, target)
			if idle := w == nil; idle != tc.idle {
				t.Fatalf("nothing to do: %t", idle)
			}
			if tc.idle {
				return
			}
			if err := w.Observe(ctx, scaleTo(tc.to), scaleTo(tc.was)); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, scaleTo(tc.to), scaleTo(max(tc.was, 0)))
			judged(t, err, marker, tc.says)
			if tc.marked && err == nil {
				tc.asked = append(slices.Clip(tc.asked), "get") // Respond needs the decision
			}
			if !slices.Equal(g.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", g.asked, tc.asked)
			}
		})
	}
}

// TestHiddenExclusion checks that nobody can write a kind that has an excluded permission by its
// definition, if its models (OpenAPI schemas) have none.
func TestHiddenExclusion(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "false", 1))
	model.Schema.Excludes = []gvk.GroupVersionKind{thing}
	for _, marked := range []bool{false, true} {
		ctx := requestContext("update")
		if marked {
			ctx, _ = granular.WithMarker(ctx)
		}
		w := New(&grants{allow: []string{"granular:specification"}}).Begin(ctx, model)
		if w == nil {
			t.Fatal("the request is not verified")
		}
		if err := w.Verify(ctx, object(t, larger), object(t, plain)); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "its definition has an excluded permission that its permission tree lacks") {
			t.Errorf("marked %t: %v", marked, err)
		}
	}
	model.Schema = granular.NewSchema(nil)
	model.Schema.Excludes = []gvk.GroupVersionKind{thing}
	if w := New(&grants{}).Begin(requestContext("update"), model); w == nil {
		t.Error("without models the request is not verified")
	}
}
