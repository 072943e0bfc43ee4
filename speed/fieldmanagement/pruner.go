// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Pruner implements managedfields.Pruner for one field manager. Several goroutines may use it at
// the same time.
type Pruner struct {
	converter managedfields.TypeConverter
	enabled   func() bool
	plans     sync.Map // kindOf to *prunePlan
}

var _ managedfields.Pruner = &Pruner{}

// NewPruner returns the Pruner of a field manager with the given converter. The Pruner drops no
// fields while enabled returns false.
func NewPruner(converter managedfields.TypeConverter, enabled func() bool) *Pruner {
	return &Pruner{converter: converter, enabled: enabled}
}

type kindOf struct {
	gvk schema.GroupVersionKind
	typ reflect.Type
}

// prunePlan describes which fields may be dropped from objects of one kind and Go type.
type prunePlan struct {
	// object is nil for unstructured objects, and if no field may be dropped.
	object *structPlan
	// stub is true if the schema describes managedFields as an atomic list with elements of the
	// usual form. Then the short list in the variable stub may replace the managedFields of the
	// live object.
	stub bool
	root root
}

// Prune returns live and new without the fields that are equal in both, and the managers' sets of
// field paths without the paths in these fields. The returned function adds these paths again to
// the sets that upstream computed. If dropping fields might change the result, Prune returns its
// arguments, and the function changes nothing.
func (p *Pruner) Prune(live, new runtime.Object, version fieldpath.APIVersion, managers fieldpath.ManagedFields) (runtime.Object, runtime.Object, fieldpath.ManagedFields, func(fieldpath.ManagedFields) fieldpath.ManagedFields) {
	a, b, d, plan := p.prune(live, new, version, managers)
	if len(d) == 0 {
		return a, b, managers, unchanged
	}
	compared, restore := plan.split(managers, d)
	return a, b, compared, restore
}

func unchanged(managers fieldpath.ManagedFields) fieldpath.ManagedFields { return managers }

func (p *Pruner) prune(live, new runtime.Object, version fieldpath.APIVersion, managers fieldpath.ManagedFields) (runtime.Object, runtime.Object, []dropped, *prunePlan) {
	if !p.enabled() {
		return live, new, nil, nil
	}
	for _, m := range managers {
		if m.APIVersion() != version {
			return live, new, nil, nil
		}
	}
	if m, err := meta.Accessor(live); err != nil || m.GetUID() == "" && len(m.GetManagedFields()) == 0 {
		return live, new, nil, nil // the request creates the object, so there is nothing to drop
	}
	before, after := reflect.ValueOf(live), reflect.ValueOf(new)
	if !isStructPointer(before) || !isStructPointer(after) || before.Type() != after.Type() {
		return live, new, nil, nil
	}
	gvk := new.GetObjectKind().GroupVersionKind()
	if live.GetObjectKind().GroupVersionKind() != gvk {
		return live, new, nil, nil
	}
	plan := p.planOf(kindOf{gvk, after.Type().Elem()})
	if u, ok := new.(*unstructured.Unstructured); ok {
		x, y, d := p.unstructured(plan, live.(*unstructured.Unstructured), u)
		return x, y, d, plan
	}
	if plan.object == nil {
		return live, new, nil, nil
	}
	a, b := reflect.New(before.Type().Elem()), reflect.New(after.Type().Elem())
	a.Elem().Set(before.Elem())
	b.Elem().Set(after.Elem())
	d := plan.object.prune(a.Elem(), b.Elem(), managers)
	x, y := a.Interface().(runtime.Object), b.Interface().(runtime.Object)
	if plan.object.isMinimal(d) {
		if p, q := minimalObject(x, gvk), minimalObject(y, gvk); p != nil && q != nil {
			return p, q, d, plan
		}
	}
	return x, y, d, plan
}

func isStructPointer(v reflect.Value) bool {
	return v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct
}

func (p *Pruner) planOf(k kindOf) *prunePlan {
	found, ok := p.plans.Load(k)
	if !ok {
		found, _ = p.plans.LoadOrStore(k, p.compile(k))
	}
	return found.(*prunePlan)
}

// compile makes the plan for a kind and Go type. It gets the schema from the converter, by
// converting an object of the kind that has only apiVersion and kind. If there is no schema, no
// field may be dropped.
func (p *Pruner) compile(k kindOf) *prunePlan {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(k.gvk)
	value, err := p.converter.ObjectToTyped(bare, typed.AllowDuplicates)
	if err != nil || value.Schema() == nil {
		return &prunePlan{}
	}
	s := &prover{schema: value.Schema()}
	out := &prunePlan{stub: s.managedFieldsOf(value.TypeRef()), root: root{value.Schema(), value.TypeRef(), complete(value.Schema(), value.TypeRef(), map[string]bool{})}}
	if k.typ != reflect.TypeFor[unstructured.Unstructured]() && !converts(k.typ) {
		out.object = s.compile(k.typ, value.TypeRef(), map[reflect.Type]bool{})
		out.object.root(out.stub)
	}
	return out
}
