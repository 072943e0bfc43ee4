// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"slices"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/pkg/gate/convert"
)

var thingV2 = gvk.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Thing"}

// turned converts things from v1 to v2. In v2, trigger is set if the size in v1 is large, and
// size is the field rest of v1; trigger is not set if the status has the field calm. The conversion fails for objects with the field fail. turned
// counts its calls.
type turned struct {
	runtime.ObjectConvertor
	calls int
	short bool
}

func (c *turned) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if _, scale := in.(*autoscalingv1.Scale); scale {
		return in, nil
	}
	c.calls++
	list := in.(*unstructured.UnstructuredList).DeepCopy()
	if list.GetKind() != "ThingList" {
		return nil, errors.New("not a list of things: " + list.GetKind())
	}
	for i := range list.Items {
		u := &list.Items[i]
		spec, _ := u.Object["spec"].(map[string]any)
		if spec["fail"] != nil {
			return nil, errors.New("it fails")
		}
		size, _ := spec["size"].(float64)
		there := map[string]any{"trigger": size > 5}
		if status, ok := u.Object["status"].(map[string]any); ok && status["calm"] == true {
			there["trigger"] = false
		}
		if spec["rest"] != nil {
			there["size"] = spec["rest"]
		}
		u.Object["spec"] = there
		u.SetGroupVersionKind(thingV2)
	}
	if c.short {
		list.Items = nil
	}
	return list, nil
}

// converting returns the target of a custom resource that is written in v1. A conversion webhook
// also makes v2 from it, and v2 has an excluded permission.
func converting(t *testing.T, v2 string) (granular.Target, *turned) {
	t.Helper()
	out, convertor := target(t, ""), &turned{}
	out.Schema = granular.NewSchema(models(t, map[string]string{
		"thing":   strings.Replace(things, "EXCLUDED", "false", 1),
		"thingV2": strings.Replace(strings.Replace(v2, "EXCLUDED", "true", 1), `"version": "v1"`, `"version": "v2"`, 1),
		"scale":   scaleModel,
	}))
	out.Schema.Excludes = []gvk.GroupVersionKind{thingV2}
	out.Schema.Converted = []gvk.GroupVersionKind{thing, thingV2}
	out.Convertor = convertor
	return out, convertor
}

const (
	small   = `{"spec":{"size":1}}`
	medium  = `{"spec":{"size":2}}`
	large   = `{"spec":{"size":9}}`
	huge    = `{"spec":{"size":99}}`
	failing = `{"spec":{"size":2,"fail":true}}`
	beside  = `{"spec":{"size":2,"rest":7}}`
	there   = `cannot change .spec.trigger of version v2`
)

// TestConverted checks how a write is verified in another version that a conversion webhook
// makes, if that version has an excluded permission.
func TestConverted(t *testing.T) {
	malformed := strings.Replace(things, `"size"}`, `"Not A Permission"}`, 1)
	two := strings.Replace(things, `"size"}`, `"size", "x-kubernetes-permission-excluded": true}`, 1)
	for name, tc := range map[string]struct {
		v2                   string
		marked, short        bool
		allow, fail          []string
		old, observed, final string
		says, internal       string
		asked                []string
		calls                int
	}{
		"nothing excluded changes": {old: small, observed: medium, final: medium, calls: 1},
		"what is excluded changes": {old: small, observed: large, final: large, says: there,
			asked: []string{"granular:trigger"}, calls: 2},
		"it is covered": {old: small, observed: large, final: large,
			allow: []string{"granular:trigger"}, asked: []string{"granular:trigger"}, calls: 1},
		"it is taken back": {old: small, observed: large, final: medium,
			asked: []string{"granular:trigger"}, calls: 2},
		"it is a webhook's": {old: small, observed: medium, final: large, calls: 1},
		"it is taken back, and another is a webhook's": {v2: two, old: small, observed: large, final: beside,
			asked: []string{"granular:trigger"}, calls: 2},
		"it is a caller's, and another is a webhook's": {v2: two, old: small, observed: beside, final: beside,
			says: "cannot change .spec.size of version v2", asked: []string{"granular:size"}, calls: 2},
		"it changed before": {old: large, observed: huge, final: huge, calls: 1},
		"a new object": {observed: large, final: large, says: there,
			asked: []string{"granular:trigger"}, calls: 2},
		"a new object, covered": {observed: large, final: large,
			allow: []string{"granular:trigger"}, asked: []string{"granular:trigger"}, calls: 2},
		"marked, the permission of the other is missing": {marked: true, allow: []string{"granular:size"},
			old: small, observed: large, final: large, says: there,
			asked: []string{"granular:specification", "granular:size", "granular:trigger"}, calls: 2},
		"marked, and covered": {marked: true,
			allow: []string{"granular:size", "granular:trigger", "get"}, old: small, observed: large, final: large,
			asked: []string{"granular:specification", "granular:size", "granular:trigger", "get"}, calls: 1},
		"marked, the other's permission is not this one": {marked: true, allow: []string{"granular:trigger"},
			old: small, observed: large, final: large, says: "cannot change .spec.size",
			asked: []string{"granular:specification", "granular:size"}, calls: 1},
		"it fails when observed, and is not what is kept": {old: small, observed: failing, final: medium, calls: 2},
		"it fails when observed, everything counts": {old: small, observed: failing, final: large,
			says: there, asked: []string{"granular:trigger"}, calls: 2},
		"it fails": {old: small, observed: failing, final: failing,
			internal: "the object can't be verified in version v2", calls: 2},
		"fewer objects come back": {short: true, old: small, observed: medium, final: medium,
			internal: "the object can't be verified in version v2", calls: 2},
		"the authorizer fails": {old: small, observed: large, final: large,
			fail: []string{"granular:trigger"}, internal: "could not say which permissions",
			asked: []string{"granular:trigger"}, calls: 2},
		"the other version has no tree": {v2: malformed, old: small, observed: medium, final: medium,
			says: "its fields can't be verified", calls: 0},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.v2 == "" {
				tc.v2 = things
			}
			model, convertor := converting(t, tc.v2)
			convertor.short = tc.short
			ctx := requestContext("update")
			var marker *granular.Marker
			if tc.marked {
				ctx, marker = granular.WithMarker(ctx)
			}
			g := &grants{allow: tc.allow, fail: tc.fail}
			w := New(g).Begin(ctx, model)
			if w == nil {
				t.Fatal("the request is not verified")
			}
			var old runtime.Object
			if tc.old != "" {
				old = object(t, tc.old)
			}
			if err := w.Observe(ctx, object(t, tc.observed), old); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, object(t, tc.final), old)
			if tc.internal != "" {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.internal) {
					t.Errorf("got %v, wanted a 500 with %q", err, tc.internal)
				}
			} else {
				judged(t, err, marker, tc.says)
			}
			if !slices.Equal(g.asked, tc.asked) {
				t.Errorf("asked %q, wanted %q", g.asked, tc.asked)
			}
			if convertor.calls != tc.calls {
				t.Errorf("%d conversions, wanted %d", convertor.calls, tc.calls)
			}
		})
	}
}

// TestNotConverted checks that nothing is converted unless a webhook makes another version that
// has an excluded permission.
func TestNotConverted(t *testing.T) {
	model, convertor := converting(t, things)
	for name, of := range map[string][]gvk.GroupVersionKind{"no webhook": nil, "this version alone": {thing}} {
		model.Schema.Converted = of
		if w := New(&grants{}).Begin(requestContext("update"), model); w != nil {
			t.Errorf("%s: there is something to verify", name)
		}
	}
	model, convertor = converting(t, strings.Replace(things, "EXCLUDED", "false", 1))
	model.Schema.Excludes = []gvk.GroupVersionKind{{Group: "example.com", Version: "v3", Kind: "Thing"}}
	if w := New(&grants{}).Begin(requestContext("update"), model); w != nil || convertor.calls > 0 {
		t.Errorf("nothing is excluded in the other version: %T, %d conversions", w, convertor.calls)
	}
}

// TestConvertedOnlyByWebhooks checks that comparing versions fails for an object that no webhook
// can convert.
func TestConvertedOnlyByWebhooks(t *testing.T) {
	typed, _ := converting(t, things)
	silent, _ := converting(t, things)
	silent.Convertor = nil
	for name, tc := range map[string]struct {
		target granular.Target
		object runtime.Object
	}{
		"a typed object": {typed, newGadget("1", nil)},
		"no convertor":   {silent, object(t, medium)},
	} {
		for _, c := range conversionsOf(tc.target, entrySet{}) {
			if newThere, oldThere, err := c.convert(tc.object, nil); !errors.Is(err, convert.ErrNotComparable) {
				t.Errorf("%s: %v, %v, %v", name, newThere, oldThere, err)
			}
		}
	}
}

// TestConversionsOfScale checks that the conversions of a scale are those of its resource,
// without the version in which the resource is written.
func TestConversionsOfScale(t *testing.T) {
	model, _ := converting(t, things)
	model.Schema.Excludes = append(model.Schema.Excludes, thing)
	model.Subresource, model.Kind = "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	for _, of := range []struct{ written, other gvk.GroupVersionKind }{{thingV2, thing}, {thing, thingV2}} {
		model.Scale = &granular.Scale{Kind: of.written, Path: []string{"spec", "size"}}
		var got []gvk.GroupVersionKind
		for _, c := range conversionsOf(model, entrySet{}) {
			got = append(got, c.target.Kind)
		}
		for _, kind := range got {
			if kind == of.written {
				t.Errorf("%s is converted into itself", kind)
			}
		}
		if of.written == thing && !slices.Contains(got, thingV2) {
			t.Errorf("%s is not converted: %v", of.written, got)
		}
	}
}

// TestConvertedScale checks that a change through the scale is verified in the other version of
// the scaled resource, and that a missing resource is an error, not an unchanged resource.
func TestConvertedScale(t *testing.T) {
	for name, tc := range map[string]struct {
		allow          []string
		to             string
		hidden         bool
		says, internal string
	}{
		"what is excluded changes": {to: large, says: there},
		"it is covered":            {to: large, allow: []string{"granular:trigger"}},
		"something else changes":   {to: medium},
		"the resource is hidden":   {to: medium, hidden: true, internal: "the resource behind the scale is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			model, _ := converting(t, things)
			model.Subresource, model.Kind = "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale")
			model.Scale = &granular.Scale{Kind: thing, Path: []string{"spec", "size"}}
			ctx := requestContext("update")
			w := New(&grants{allow: tc.allow}).Begin(ctx, model)
			if w == nil {
				t.Fatal("the request is not verified")
			}
			if err := w.Observe(ctx, scaleTo(2), scaleTo(1)); err != nil {
				t.Fatal(err)
			}
			granular.Install(func(a upstream.Authorizer) upstream.Authorizer { return a })
			defer granular.Install(nil)
			if !tc.hidden {
				ctx = granular.WithScaled(ctx, object(t, tc.to), object(t, small))
			}
			err := w.Verify(ctx, scaleTo(2), scaleTo(1))
			if tc.internal != "" {
				if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), tc.internal) {
					t.Errorf("got %v, wanted a 500 with %q", err, tc.internal)
				}
				return
			}
			judged(t, err, nil, tc.says)
		})
	}
}

// TestConvertedKept checks that a caller can't hide its change in another version by a part of the
// object that the server keeps as it is stored. A version without the status subresource keeps none.
func TestConvertedKept(t *testing.T) {
	const calm = `{"spec":{"size":9},"status":{"calm":true}}`
	for name, tc := range map[string]struct {
		status                                    bool
		subresource, observed, final, grant, says string
	}{
		"the status is kept":            {status: true, observed: calm, final: large, says: there},
		"the status is kept, covered":   {status: true, observed: calm, final: large, grant: "granular:trigger"},
		"the status is written":         {observed: calm, final: calm},
		"a status that changes nothing": {status: true, observed: `{"spec":{"size":2},"status":{"calm":true}}`, final: medium},
		"the specification is kept":     {status: true, subresource: "status", observed: large, final: small},
	} {
		target, _ := converting(t, things)
		target.Subresource = tc.subresource
		target.Schema.Stored = &granular.Stored{Kind: thing, Webhook: true, Versions: map[string]*granular.StoredVersion{}}
		target.Schema.Stored.Add("v1", true, nil).Status = tc.status
		ctx := requestContext("update")
		w := New(&grants{allow: []string{tc.grant}}).Begin(ctx, target)
		if err := w.Observe(ctx, object(t, tc.observed), object(t, small)); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { judged(t, w.Verify(ctx, object(t, tc.final), object(t, small)), nil, tc.says) })
	}
}
