// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// unstructured drops the equal fields from two unstructured objects. Upstream validates only what
// is left, so unstructured itself validates the whole new object, including the fields that are
// equal in both. It returns its arguments if the new object is not valid, or if too little would
// be dropped.
func (p *Pruner) unstructured(plan *prunePlan, live, new *unstructured.Unstructured) (x, y runtime.Object, out []dropped) {
	if live.Object == nil || new.Object == nil {
		return live, new, nil
	}
	d := difference{}
	a, b, out, same := d.prune(live.Object, new.Object, 0)
	if d.same < d.kept/2 {
		return live, new, nil // validation would cost more than dropping fields saves
	}
	if _, err := p.converter.ObjectToTyped(new, typed.AllowDuplicates); err != nil {
		return live, new, nil // upstream reports the error
	}
	if same {
		a, b = map[string]any{}, map[string]any{}
	}
	restore(a, live.Object, "apiVersion", "kind")
	restore(b, new.Object, "apiVersion", "kind")
	before, ok := live.Object["metadata"].(map[string]any)
	after, ok2 := new.Object["metadata"].(map[string]any)
	if ok && ok2 && before != nil && after != nil {
		// a and b have copies of the metadata, but no metadata if it was equal.
		x, y := map[string]any{}, map[string]any{}
		if kept, ok := a["metadata"].(map[string]any); ok {
			x = kept
			y, _ = b["metadata"].(map[string]any)
		}
		a["metadata"], b["metadata"] = x, y
		restore(x, before, "name", "namespace")
		restore(y, after, "name", "namespace")
		list, ok := x["managedFields"].([]any)
		if _, there := after["managedFields"]; ok && !there && plan.stub && knownManagers(list) {
			x["managedFields"] = plainStub
		}
	}
	return &unstructured.Unstructured{Object: a}, &unstructured.Unstructured{Object: b}, out
}

// restore puts back the fields that upstream reads directly, besides comparing them.
func restore(pruned, original map[string]any, names ...string) {
	for _, name := range names {
		if v, ok := original[name]; ok && pruned != nil {
			pruned[name] = v
		}
	}
}

// maxDepth is the number of nested levels down to which this package compares values and reads
// sets of field paths. It leaves deeper values and sets to upstream.
const maxDepth = 64

// difference counts the values that were dropped from both objects, and those that were kept, to
// estimate whether dropping is worth its cost.
type difference struct{ same, kept int }

// prune returns copies of two maps, and of the maps inside them, without the entries that are
// equal in both. out has the dropped entries, sorted by name. If the maps are equal, same is true
// and x and y are nil. A list is dropped or kept as a whole.
func (d *difference) prune(a, b map[string]any, depth int) (x, y map[string]any, out []dropped, same bool) {
	same = true
	differ := func() {
		if same {
			x, y, same = map[string]any{}, map[string]any{}, false
		}
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok {
			differ()
			x[k] = v
			d.kept += size(v)
			continue
		}
		m, ok := v.(map[string]any)
		n, ok2 := w.(map[string]any)
		if ok && ok2 && m != nil && n != nil && depth < maxDepth {
			c, e, below, equal := d.prune(m, n, depth+1)
			switch {
			case equal:
				out = append(out, dropped{name: k})
			default:
				differ()
				x[k], y[k] = c, e
				if len(below) > 0 {
					out = append(out, dropped{k, below})
				}
			}
			continue
		}
		if !equalPlain(v, w, depth) {
			differ()
			x[k], y[k] = v, w
			d.kept += 2
		} else {
			d.same++
			out = append(out, dropped{name: k})
		}
	}
	for k, w := range b {
		if _, ok := a[k]; !ok {
			differ()
			y[k] = w
			d.kept += size(w)
		}
	}
	slices.SortFunc(out, func(a, b dropped) int { return strings.Compare(a.name, b.name) })
	return x, y, out, same
}

// equalPlain compares two JSON values strictly. Numbers of different Go types are not equal,
// because a schema may treat 1 and 1.0 differently.
func equalPlain(a, b any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case float64:
		b, ok := b.(float64)
		return ok && a == b && a != 0 // 0 is left out because 0 == -0, and NaN is never equal
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || a == nil || b == nil {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !equalPlain(v, w, depth+1) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || a == nil || b == nil {
			return false
		}
		for i := range a {
			if !equalPlain(a[i], b[i], depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// size returns the number of values in nested maps. Anything but a map counts as one value.
func size(v any) int {
	m, ok := v.(map[string]any)
	if !ok {
		return 1
	}
	n := 0
	for _, below := range m {
		n += size(below)
	}
	return n
}
