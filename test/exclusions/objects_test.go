// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"encoding/json"
	"maps"
	"math/rand"
	"slices"
	"testing"

	apifuzzer "k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kubefuzzer "k8s.io/kubernetes/pkg/api/testing"
	"sigs.k8s.io/randfill"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/gate/convert"
)

// object is an object as JSON shows it.
type object = map[string]any

// choices are values that the server's code tells from others, by the name of the field.
var choices = map[string][]any{
	"type":                  {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "RollingUpdate", "Recreate", "OnDelete", "Localhost", "Utilization", "Resource", "Opaque"},
	"protocol":              {"TCP", "UDP"},
	"externalTrafficPolicy": {"Local", "Cluster"},
	"internalTrafficPolicy": {"Local", "Cluster"},
	"sessionAffinity":       {"ClientIP", "None"},
	"ipFamilyPolicy":        {"SingleStack", "PreferDualStack", "RequireDualStack"},
	"policyTypes":           {[]any{"Ingress"}, []any{"Egress"}},
	"restartPolicy":         {"Always", "Never", "OnFailure"},
	"completionMode":        {"Indexed", "NonIndexed"},
	"hostNetwork":           {true, false},
	"image":                 {"i", "i:latest", "i:v1"},
	"kind":                  {"PersistentVolumeClaim", "VolumeSnapshot", "Other"},
	"apiGroup":              {"", "snapshot.storage.k8s.io", "example.com"},
	"clusterIP":             {"None", "10.0.0.1"},
	"limits":                {object{"cpu": "4"}, object{"memory": "4Gi"}, object{"cpu": "4", "memory": "4Gi"}},
	"requests":              {object{"cpu": "1"}, object{"memory": "1Gi"}, object{"cpu": "1", "memory": "1Gi"}},
}

// generator makes random objects.
type generator struct {
	*rand.Rand
	fill *randfill.Filler
}

func newGenerator(seed int64) *generator {
	source := rand.NewSource(seed)
	fill := apifuzzer.FuzzerFor(apifuzzer.MergeFuzzerFuncs(kubefuzzer.FuzzerFuncs), source, legacyscheme.Codecs).NumElements(1, 2).NilChance(0.1)
	return &generator{Rand: rand.New(source), fill: fill}
}

// sent returns a random object of a kind as a client sends it. Each field is missing now and then.
func (g *generator) sent(t *testing.T, kind schema.GroupVersionKind) (object, bool) {
	t.Helper()
	obj, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }() // a fuzzer of upstream meets a value that it does not know
		g.fill.Fill(obj)
	}()
	out, ok := shown(obj)
	if !ok {
		return nil, false
	}
	delete(out, "status")
	delete(out, "metadata")
	out["apiVersion"], out["kind"] = kind.GroupVersion().String(), kind.Kind
	prune := []float64{0.05, 0.2, 0.5}[g.Intn(3)]
	g.vary(out, prune)
	out["apiVersion"], out["kind"] = kind.GroupVersion().String(), kind.Kind
	out["metadata"] = object{"name": "n", "namespace": "ns", "uid": "1", "labels": object{"a": "b"}, "finalizers": []any{"example.com/a"},
		"ownerReferences": []any{object{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "2"}}}
	for _, name := range []string{"finalizers", "ownerReferences"} {
		if g.Intn(2) == 0 {
			delete(out["metadata"].(object), name)
		}
	}
	typed, ok := decoded(kind, out)
	if !ok {
		return nil, false
	}
	return shown(typed)
}

// vary removes fields with a probability, and sets some to one of their choices.
func (g *generator) vary(value any, prune float64) {
	switch value := value.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if g.Float64() < prune {
				delete(value, name)
				continue
			}
			if some := choices[name]; some != nil && g.Intn(5) > 0 {
				chosen := some[g.Intn(len(some))]
				if sameShape(value[name], chosen) {
					value[name] = runtime.DeepCopyJSONValue(chosen)
				}
			}
			g.vary(value[name], prune)
		}
	case []any:
		for _, item := range value {
			g.vary(item, prune)
		}
	}
}

func sameShape(a, b any) bool {
	switch a.(type) {
	case string:
		_, ok := b.(string)
		return ok
	case bool:
		_, ok := b.(bool)
		return ok
	case []any:
		_, ok := b.([]any)
		return ok
	case object:
		_, ok := b.(object)
		return ok
	}
	return false
}

// shown returns an object as JSON shows it.
func shown(obj any) (out object, ok bool) {
	data, err := json.Marshal(obj)
	if err != nil || json.Unmarshal(data, &out) != nil {
		return nil, false
	}
	return out, true
}

// decoded returns an object of a kind without defaults.
func decoded(kind schema.GroupVersionKind, o object) (runtime.Object, bool) {
	obj, err := legacyscheme.Scheme.New(kind)
	if err != nil {
		return nil, false
	}
	data, err := json.Marshal(o)
	if err != nil || json.Unmarshal(data, obj) != nil {
		return nil, false
	}
	return obj, true
}

// received returns the object as handlers hold it: with defaults, in the internal version.
func received(kind schema.GroupVersionKind, o object, defaults bool) (out runtime.Object, ok bool) {
	obj, ok := decoded(kind, o)
	if !ok {
		return nil, false
	}
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	if defaults {
		legacyscheme.Scheme.Default(obj)
	}
	internal, err := legacyscheme.Scheme.ConvertToVersion(obj, runtime.InternalGroupVersioner)
	return internal, err == nil
}

// judged returns an object of the internal version in the version in which it is compared.
func judged(kind schema.GroupVersionKind, internal runtime.Object) (object, bool) {
	obj, err := legacyscheme.Scheme.ConvertToVersion(internal.DeepCopyObject(), kind.GroupVersion())
	if err != nil {
		return nil, false
	}
	return shown(obj)
}

// pristine returns an empty object with its defaults, as the gate makes it.
func pristine(t *testing.T, kind schema.GroupVersionKind) object {
	t.Helper()
	obj := convert.Pristine(granular.Target{Kind: kind, Convertor: runtime.UnsafeObjectConvertor(legacyscheme.Scheme)})
	out, ok := shown(obj)
	if obj == nil || !ok {
		t.Fatal(kind)
	}
	return out
}

// differences calls f for the path of each field that a and b have with different values, or only one
// of them has. Inside a field that only one of them has, it calls f for all fields.
func differences(a, b any, path overlay.Path, f func(path overlay.Path, a, b any)) {
	x, isObject := a.(object)
	y, alsoObject := b.(object)
	if isObject && alsoObject || isObject && b == nil || a == nil && alsoObject {
		if a == nil || b == nil {
			f(path, a, b)
		}
		names := maps.Clone(x)
		if names == nil {
			names = object{}
		}
		maps.Copy(names, y)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			differences(x[name], y[name], append(slices.Clone(path), overlay.Step{Name: name}), f)
		}
		return
	}
	list, isList := a.([]any)
	other, alsoList := b.([]any)
	if isList && alsoList && len(list) == len(other) {
		for i := range list {
			differences(list[i], other[i], append(slices.Clone(path), overlay.Step{Every: true}), f)
		}
		return
	}
	if left, right := text(a), text(b); left != right {
		f(path, a, b)
	}
}

func text(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

// valueAt returns the value at a path without [*].
func valueAt(o any, path overlay.Path) any {
	for _, step := range path {
		m, ok := o.(object)
		if !ok {
			return nil
		}
		o = m[step.Name]
	}
	return o
}
