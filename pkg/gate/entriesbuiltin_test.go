// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"

	"kube-granular.dev/pkg/modelstest"
)

// builtin returns the target of a built-in resource in a server that serves some kinds, the first of
// which is that of the request.
func builtin(t testing.TB, resource, subresource string, kinds map[string]gvk.GroupVersionKind, kind gvk.GroupVersionKind) granular.Target {
	t.Helper()
	out := definitions()
	for name, served := range kinds {
		out = modelstest.Marked(out, name, served)
	}
	return granular.Target{
		Kind: kind, Resource: kind.GroupVersion().WithResource(resource), Subresource: subresource,
		Convertor: apiruntime.UnsafeObjectConvertor(legacyscheme.Scheme), Schema: granular.NewSchema(out),
	}
}

// hub converts an object to the internal version, as handlers hold it.
func hub(t testing.TB, obj apiruntime.Object) apiruntime.Object {
	t.Helper()
	out, err := apiruntime.UnsafeObjectConvertor(legacyscheme.Scheme).ConvertToVersion(obj.DeepCopyObject(), apiruntime.InternalGroupVersioner)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEntriesOfBuiltinScale writes scales of built-in resources whose replicas have an entry.
func TestEntriesOfBuiltinScale(t *testing.T) {
	scaleKind := autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	for source, definition := range map[string]string{
		"deployments.apps": "io.k8s.api.apps.v1.Deployment", "replicasets.apps": "io.k8s.api.apps.v1.ReplicaSet",
		"statefulsets.apps": "io.k8s.api.apps.v1.StatefulSet", "replicationcontrollers": "io.k8s.api.core.v1.ReplicationController",
	} {
		resource := gvk.ParseGroupResource(source)
		kind := gvk.GroupVersionKind{Group: resource.Group, Version: "v1", Kind: builtinScales[resource]}
		for name, tc := range map[string]struct {
			entry  string
			to     int32
			marked bool
			allow  []string
			says   string
		}{
			"excluded":           {entry: ".spec.replicas acme.io/r excluded", to: 2, says: `cannot change .spec.replicas in namespace "n"`},
			"excluded, the verb": {entry: ".spec.replicas acme.io/r excluded", to: 2, allow: []string{"granular:acme.io/r"}},
			"unchanged":          {entry: ".spec.replicas acme.io/r excluded", to: 1},
			"all is excluded":    {entry: ".spec acme.io/all excluded", to: 2, says: "granular:acme.io/all"},
			"another field":      {entry: ".spec.selector acme.io/s excluded", to: 2},
			"granular":           {entry: ".spec.replicas acme.io/r excluded", to: 2, marked: true, allow: []string{"granular:specification", "granular:replicas"}, says: "granular:acme.io/r"},
			"granular, both":     {entry: ".spec.replicas acme.io/r excluded", to: 2, marked: true, allow: []string{"granular:specification", "granular:acme.io/r"}},
		} {
			of := builtin(t, resource.Resource, "scale", map[string]gvk.GroupVersionKind{definition: kind, "io.k8s.api.autoscaling.v1.Scale": scaleKind}, scaleKind)
			of.Resource = kind.GroupVersion().WithResource(resource.Resource)
			write := func(allow []string) error {
				ctx := requestContext("update")
				if tc.marked {
					ctx, _ = granular.WithMarker(ctx)
				}
				w := New(&grants{allow: allow}, WithFieldPermissions(withEntries(entriesOf(t, source, true, tc.entry)))).Begin(ctx, of)
				if w == nil {
					return nil
				}
				was, is := hub(t, scaleTo(1)), hub(t, scaleTo(tc.to))
				return verify(t, w, ctx, is, was)
			}
			t.Run(source+", "+name, func(t *testing.T) {
				wantError(t, write(tc.allow), tc.says)
				if tc.says == "" && tc.allow != nil && write(nil) == nil {
					t.Error("allowed without the verb")
				}
			})
		}
	}
}

// TestEntriesInAnotherBuiltinVersion writes a HorizontalPodAutoscaler in two versions. The metrics of
// autoscaling/v2 are in an annotation of autoscaling/v1.
func TestEntriesInAnotherBuiltinVersion(t *testing.T) {
	const source = "horizontalpodautoscalers.autoscaling"
	v1, v2 := autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
	scaler := func(maximum int32, percent int32, label string) apiruntime.Object {
		out := &autoscalingv2.HorizontalPodAutoscaler{}
		out.Name, out.Namespace, out.UID = "x", "n", "1"
		out.Labels = map[string]string{"a": label}
		out.Spec.MaxReplicas = maximum
		out.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web", APIVersion: "apps/v1"}
		out.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: "cpu", Container: "c", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}}}}
		return hub(t, out)
	}
	old := scaler(5, 50, "x")
	for name, tc := range map[string]struct {
		kind  gvk.GroupVersionKind
		entry string
		new   apiruntime.Object
		// derived is what the server makes of new, and hooked what a webhook does. Each is new if it is nil.
		derived, hooked apiruntime.Object
		create          bool
		bypass          bool
		allow           []string
		says            string
	}{
		"in its version":             {kind: v2, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), says: "cannot change .spec.metrics"},
		"in its version, the verb":   {kind: v2, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), allow: []string{"granular:acme.io/m"}},
		"in an annotation":           {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), says: "of version v2"},
		"in an annotation, the verb": {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), allow: []string{"granular:acme.io/m"}},
		"in an annotation, bypassed": {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), bypass: true},
		"another field":              {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(6, 50, "x")},
		"a label":                    {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 50, "y")},
		"the same field":             {kind: v1, entry: ".spec.maxReplicas acme.io/m excluded", new: scaler(6, 50, "x"), says: "cannot change .spec.maxReplicas in namespace \"n\""},
		"a create":                   {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), create: true, says: "of version v2"},
		"derived": {kind: v2, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), derived: scaler(6, 60, "x"), says: "the server changes it"},
		"derived, the verb": {kind: v2, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), derived: scaler(6, 60, "x"), allow: []string{"granular:acme.io/m"}},
		"derived, in an annotation": {kind: v1, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), derived: scaler(6, 60, "x"), says: "the server changes it"},
		"derived there, the verb": {kind: v1, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), derived: scaler(6, 60, "x"), allow: []string{"granular:acme.io/m"}},
		"derived there, bypassed": {kind: v1, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), derived: scaler(6, 60, "x"), bypass: true},
		"by a webhook": {kind: v2, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), hooked: scaler(6, 60, "x")},
		"by a webhook, annotated": {kind: v1, entry: ".spec.metrics acme.io/m excluded",
			new: scaler(6, 50, "x"), hooked: scaler(6, 60, "x")},
		"a create, the verb": {kind: v1, entry: ".spec.metrics acme.io/m excluded", new: scaler(5, 60, "x"), create: true, allow: []string{"granular:acme.io/m"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := builtin(t, "horizontalpodautoscalers", "", map[string]gvk.GroupVersionKind{
				"io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": v1, "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": v2}, tc.kind)
			write := func(allow []string) error {
				e := entriesOf(t, source, true, tc.entry)
				e.Version = "v2"
				if name == "the same field" {
					e.Version = "v1"
				}
				authorizer := &bypassing{grants: grants{allow: allow}}
				if tc.bypass {
					authorizer.name = source
				}
				ctx, was := requestContext("update"), old
				if tc.create {
					was = nil
				}
				w := New(authorizer, WithFieldPermissions(withEntries(e))).Begin(ctx, of)
				if w == nil {
					return nil
				}
				if err := w.Observe(ctx, tc.new, was); err != nil {
					t.Fatal(err)
				}
				left, final := tc.new, tc.new
				if tc.hooked != nil {
					left, final = tc.hooked, tc.hooked
				}
				if tc.derived != nil {
					final = tc.derived
				}
				if err := w.Admitted(ctx, left, was); err != nil {
					t.Fatal(err)
				}
				return w.Verify(ctx, final, was)
			}
			wantError(t, write(tc.allow), tc.says)
			if tc.says == "" && tc.allow != nil && write(nil) == nil {
				t.Error("allowed without the verb")
			}
		})
	}
}

// TestDerivedInAnotherVersionAnew checks that what admission left in one attempt counts for nothing in the next one, also in another
// version than that of the request.
func TestDerivedInAnotherVersionAnew(t *testing.T) {
	const kind = "HorizontalPodAutoscaler"
	v1, v2 := autoscalingv1.SchemeGroupVersion.WithKind(kind), autoscalingv2.SchemeGroupVersion.WithKind(kind)
	scaler := func(maximum, minimum int32) apiruntime.Object {
		out := &autoscalingv2.HorizontalPodAutoscaler{}
		out.Name, out.Namespace, out.UID = "x", "n", "1"
		out.Spec.MaxReplicas, out.Spec.MinReplicas = maximum, &minimum
		return hub(t, out)
	}
	of := builtin(t, "horizontalpodautoscalers", "", map[string]gvk.GroupVersionKind{
		"io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler": v1, "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler": v2}, v1)
	e := entriesOf(t, "horizontalpodautoscalers.autoscaling", true, ".spec.minReplicas acme.io/m excluded")
	e.Version = "v2"
	ctx := requestContext("update")
	w := New(&grants{}, WithFieldPermissions(withEntries(e))).Begin(ctx, of)
	for _, says := range []string{"", "the server changes it"} {
		if err := w.Observe(ctx, scaler(6, 1), scaler(5, 1)); err != nil {
			t.Fatal(err)
		}
		if says == "" {
			if err := w.Admitted(ctx, scaler(6, 2), scaler(5, 1)); err != nil {
				t.Fatal(err)
			}
		}
		wantError(t, w.Verify(ctx, scaler(6, 2), scaler(5, 1)), says)
	}
}

// TestEntriesAndRollback checks that a rollback by an annotation, which restores an older template, is
// refused if entries exclude fields, and that the deployment controller can clear the annotation.
func TestEntriesAndRollback(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments")
	deployment := func(metadata string) apiruntime.Object {
		return stored(t, at("apps/v1/Deployment", `"metadata": PLACE, "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}`, metadata))
	}
	without, asked := deployment(`{"labels": {"a": "b"}}`), deployment(`{"annotations": {"deprecated.deployment.rollback.to": "1"}, "labels": {"a": "b"}}`)
	e := entriesOf(t, "deployments.apps", true, ".spec.replicas acme.io/r excluded")
	for name, tc := range map[string]struct {
		old, new apiruntime.Object
		bypass   string
		says     string
	}{
		"asked for":          {old: without, new: asked, says: "an annotation or label holds the value of a field"},
		"cleared":            {old: asked, new: without, says: "an annotation or label holds the value of a field"},
		"cleared, bypassed":  {old: asked, new: without, bypass: e.Source},
		"bypass of another":  {old: asked, new: without, bypass: "pods", says: "an annotation or label holds the value of a field"},
		"nothing is changed": {old: asked, new: asked},
	} {
		ctx := requestContext("update")
		w := New(&bypassing{name: tc.bypass}, WithFieldPermissions(withEntries(e))).Begin(ctx, of)
		t.Run(name, func(t *testing.T) { wantError(t, verify(t, w, ctx, tc.new, tc.old), tc.says) })
	}
}

// TestEntriesAndTemplateGeneration checks that the annotation which conversion adds to each DaemonSet does
// not stop ordinary writes of DaemonSets with exclusions, and that these hold.
func TestEntriesAndTemplateGeneration(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/DaemonSet"), "daemonsets")
	daemons := func(image, metadata string) apiruntime.Object {
		return stored(t, at("apps/v1/DaemonSet", `"metadata": PLACE, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "`+image+`"}]}}}`, metadata))
	}
	const annotated = `{"annotations": {"deprecated.daemonset.template.generation": "7"}}`
	e := entriesOf(t, "daemonsets.apps", true, ".metadata.finalizers acme.io/f excluded")
	for name, tc := range map[string]struct {
		old, new apiruntime.Object
		says     string
	}{
		"a create":                 {old: nil, new: daemons("i", `{"labels": {"a": "b"}}`)},
		"without the annotation":   {old: daemons("i", annotated), new: daemons("i", `{"labels": {"a": "b"}}`)},
		"another image":            {old: daemons("i", annotated), new: daemons("j", annotated)},
		"a finalizer":              {old: daemons("i", annotated), new: daemons("i", `{"finalizers": ["acme.io/x"]}`), says: "cannot change .metadata.finalizers"},
		"a create with finalizers": {old: nil, new: daemons("i", `{"finalizers": ["acme.io/x"]}`), says: "cannot change .metadata.finalizers"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := requestContext("update")
			w := New(&grants{}, WithFieldPermissions(withEntries(e))).Begin(ctx, of)
			wantError(t, verify(t, w, ctx, tc.new, tc.old), tc.says)
		})
	}
}

// TestTemplateGenerationIsNotDerived lets a webhook change the template of a DaemonSet whose specification is closed. The
// server then counts the generation of the template, which v1 shows as an annotation.
func TestTemplateGenerationIsNotDerived(t *testing.T) {
	of := endpoint(t, kindNamed("apps/v1/DaemonSet"), "daemonsets")
	daemons := func(image, generation, label string) apiruntime.Object {
		metadata := `{"annotations": {"deprecated.daemonset.template.generation": "` + generation + `"}, "labels": {"a": "` + label + `"}}`
		template := `{"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "` + image + `"}]}}`
		return stored(t, at("apps/v1/DaemonSet",
			`"metadata": `+metadata+`, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": `+template+`}`, ""))
	}
	e, ctx := entriesOf(t, "daemonsets.apps", true, ".spec acme.io/s excluded"), requestContext("update")
	g := New(&grants{}, WithFieldPermissions(withEntries(e)))
	old := daemons("i", "7", "x")
	for name, tc := range map[string]struct {
		admitted, final apiruntime.Object
		says            string
	}{
		"by a webhook":  {daemons("j", "7", "y"), daemons("j", "8", "y"), ""},
		"by the server": {daemons("i", "7", "y"), daemons("j", "8", "y"), "the server changes it"},
	} {
		w := g.Begin(ctx, of)
		if err := w.Observe(ctx, daemons("i", "7", "y"), old); err != nil {
			t.Fatal(err)
		}
		if err := w.Admitted(ctx, tc.admitted, old); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { wantError(t, w.Verify(ctx, tc.final, old), tc.says) })
	}
}

// BenchmarkPodWithEntries measures an ordinary update of a pod's label: without entries, with an
// exclusion of another field, and in mode Audit.
func BenchmarkPodWithEntries(b *testing.B) {
	lines := []string{".spec.hostNetwork acme.io/hostNetwork excluded", ".metadata.finalizers acme.io/finalizers excluded"}
	for name, options := range map[string][]Option{
		"none":     nil,
		"enforced": {WithFieldPermissions(withEntries(entriesOf(b, "pods", true, lines...)))},
		"audited":  {WithFieldPermissions(withEntries(entriesOf(b, "pods", false, lines...)))},
	} {
		b.Run(name, func(b *testing.B) {
			g, of, old, changed := New(&grants{}, options...), podTarget(b), pod(b, "a"), pod(b, "b")
			ctx := requestContext("update")
			b.ReportAllocs()
			for b.Loop() {
				pass(b, g, ctx, of, changed, old)
			}
		})
	}
}
