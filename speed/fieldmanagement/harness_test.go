// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Tests use managedFields that are no valid sets. Upstream logs each of them as an error, so
// logging is turned off.
func init() { utilruntime.ErrorHandlers = nil }

// definitions are the OpenAPI models of the patched Kubernetes, which the server has too.
var definitions = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	data, err := os.ReadFile(filepath.Join("..", "..", "upstream", "kubernetes", "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return nil, err
	}
	swagger := spec.Swagger{}
	if err := json.Unmarshal(data, &swagger); err != nil {
		return nil, err
	}
	out := map[string]*spec.Schema{}
	for name, s := range swagger.Definitions {
		out[name] = &s
	}
	return out, nil
})

var builtins = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	models, err := definitions()
	if err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(models, false)
})

func builtinConverter(t testing.TB) managedfields.TypeConverter {
	t.Helper()
	c, err := builtins()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// converting converts unstructured objects between versions. Like a real conversion, it reads
// one field to write another. Go types have one version only.
type converting struct{}

func (converting) Convert(_, _, _ any) error { return nil }

func (converting) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	gvk := in.GetObjectKind().GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{gvk})
	if !ok || target == gvk {
		return in, nil
	}
	out := u.DeepCopy()
	out.SetGroupVersionKind(target)
	if s, ok, _ := unstructured.NestedString(out.Object, "metadata", "name"); ok {
		out.SetAnnotations(map[string]string{"converted-from": s + gvk.Version})
	}
	return out, nil
}

func (converting) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", os.ErrInvalid
}

type defaulting struct{}

func (defaulting) Default(runtime.Object) {}

type creating struct{}

func (creating) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// manager is a field manager. If ours is true, it decodes entries with this package's decoder.
// The decoder is installed for the whole process, so Update switches it by the variable
// decoding.
type manager struct {
	*managedfields.FieldManager
	ours bool
}

var decoding bool

func init() { managedfields.InstallDecoder(NewDecoder(func() bool { return decoding })) }

func (m manager) Update(live, new runtime.Object, name string) (runtime.Object, error) {
	decoding = m.ours
	defer func() { decoding = false }()
	return m.FieldManager.Update(live, new, name)
}

// managers returns two field managers of a kind: one that does what upstream does, and one that
// prunes objects.
func managers(t testing.TB, c managedfields.TypeConverter, kind schema.GroupVersionKind, subresource string, reset map[fieldpath.APIVersion]fieldpath.Filter) (whole, pruned manager) {
	t.Helper()
	made := func() *managedfields.FieldManager {
		f, err := managedfields.NewDefaultCRDFieldManager(c, converting{}, defaulting{}, creating{}, kind, kind.GroupVersion(), subresource, reset)
		if !strings.Contains(kind.Group, "example.com") {
			f, err = managedfields.NewDefaultFieldManager(c, converting{}, defaulting{}, creating{}, kind, kind.GroupVersion(), subresource, reset)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	whole = manager{made(), false}
	managedfields.InstallPruner(func(c managedfields.TypeConverter) managedfields.Pruner {
		return counting{NewPruner(c, func() bool { return true })}
	})
	defer managedfields.InstallPruner(nil)
	return whole, manager{made(), true}
}

// counting counts how often objects were pruned and sets of managers were split. A test that
// rarely does either tests nothing.
type counting struct{ *Pruner }

var asked, pruned, parts, bared int

func (c counting) Prune(live, new runtime.Object, version fieldpath.APIVersion, managers fieldpath.ManagedFields) (runtime.Object, runtime.Object, fieldpath.ManagedFields, func(fieldpath.ManagedFields) fieldpath.ManagedFields) {
	a, b, compared, restore := c.Pruner.Prune(live, new, version, managers)
	asked++
	if a != live || b != new {
		pruned++
	}
	if _, bare := a.(*unstructured.Unstructured); bare && reflect.TypeOf(a) != reflect.TypeOf(live) {
		bared++
	}
	for name := range managers {
		if compared[name] != managers[name] {
			parts++
			break
		}
	}
	return a, b, compared, restore
}
