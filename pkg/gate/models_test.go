// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
)

// custom is the target of a custom resource. Its models (OpenAPI schemas) are made only when
// needed.
type custom struct {
	granular.Target
	// made is how many times the models were made. last points to the latest ones.
	made int
	last weak.Pointer[spec.Schema]
}

func customTarget(t *testing.T, text string) *custom {
	out := &custom{Target: target(t, "")}
	out.Schema = granular.NewLazySchema(func() map[string]*spec.Schema {
		out.made++
		all := models(t, map[string]string{"thing": text})
		out.last = weak.Make(all["thing"])
		return all
	})
	out.Schema.Excludes = []gvk.GroupVersionKind{thing}
	return out
}

// TestModelsAreNotKept checks that the models of a custom resource, which are large, are made
// once, when the kind is first written, and are freed afterwards.
func TestModelsAreNotKept(t *testing.T) {
	lazy := customTarget(t, strings.Replace(things, "EXCLUDED", "true", 1))
	if lazy.made != 0 {
		t.Error("models were made that nobody needed")
	}
	first := kindOf(lazy.Target)
	if first.walker == nil || kindOf(lazy.Target) != first || lazy.made != 1 {
		t.Errorf("made %d times, walker %v", lazy.made, first.walker)
	}
	gone(t, lazy)
	// A comparison needs no models, nor does a message about a scalar field.
	set, err := first.compare(lazy.Target, change.All, object(t, both), object(t, plain))
	if err != nil || len(set) != 2 {
		t.Fatalf("%v, %v", set, err)
	}
	for _, c := range set {
		first.locate(lazy.Target, c, object(t, both), object(t, plain), (*change.Walker).Locate)
	}
	if lazy.made != 1 {
		t.Errorf("made %d times", lazy.made)
	}
	runtime.KeepAlive(first)
}

func gone(t *testing.T, of *custom) {
	t.Helper()
	for range 3 {
		runtime.GC()
	}
	if of.last.Value() != nil {
		t.Fatal("the models are still there")
	}
}

// TestMessagesAreOfTheSchemaServed changes a definition while a request with the old one is in
// progress. The path in the message of that request follows the old schema, even if its models
// had to be made again. If they can't be made again, the message has only the path of the changed
// permission.
func TestMessagesAreOfTheSchemaServed(t *testing.T) {
	text := func(items string) string {
		return strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"size": {`, `"list": {"type": "array", `+items+`}, "size": {`, 1)
	}
	old := customTarget(t, text(`"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "properties": {"name": {"type": "string"}}}`))
	compiled := kindOf(old.Target)
	newer := customTarget(t, text(`"items": {"type": "object", "properties": {"name": {"type": "string"}}}`))
	was, is := object(t, `{"spec":{"list":[{"name":"a","v":1}]}}`), object(t, `{"spec":{"list":[{"name":"a","v":2}]}}`)
	path := func(of *custom) string {
		k := kindOf(of.Target)
		set, err := k.compare(of.Target, change.All, is, was)
		if err != nil || len(set) != 1 {
			t.Fatalf("%v, %v", set, err)
		}
		return k.locate(of.Target, set[0], is, was, (*change.Walker).Locate)
	}
	for range 3 {
		if got, want := path(old), `.spec.list[name="a"].v`; got != want {
			t.Errorf("%s, wanted %s", got, want)
		}
		if got, want := path(newer), `.spec.list[0].v`; got != want {
			t.Errorf("by the newer definition %s, wanted %s", got, want)
		}
		gone(t, old)
	}
	if old.made < 2 {
		t.Errorf("made %d times", old.made)
	}
	if kindOf(old.Target) != compiled {
		t.Error("compiled again")
	}
	none := false
	lost := target(t, "")
	lost.Schema = granular.NewLazySchema(func() map[string]*spec.Schema {
		if none {
			return nil
		}
		return models(t, map[string]string{"thing": text(`"items": {"type": "object"}`)})
	})
	lost.Schema.Excludes = []gvk.GroupVersionKind{thing}
	kindOf(lost)
	none = true
	if got, want := path(&custom{Target: lost}), `.spec`; got != want {
		t.Errorf("with no models %s, wanted %s", got, want)
	}
}
