// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"kube-granular.dev/granular/schema"
)

// reconstructOld returns an object that differs from after exactly in the fields that a patch
// names. The result is used in place of the object before the patch, if the log does not show that
// object. The patch may be a merge patch, a strategic merge patch, a JSON patch or an applied
// object. The log does not show which kind of patch it is.
func reconstructOld(patch []byte, after map[string]any, root *schema.Node) (map[string]any, error) {
	var ops []operation
	if utiljson.Unmarshal(patch, &ops) == nil {
		out := runtime.DeepCopyJSON(after)
		for _, op := range ops {
			op.undo(out)
		}
		return out, nil
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(patch, &fields); err != nil {
		return nil, fmt.Errorf("the patch is not JSON")
	}
	for _, identity := range []string{"apiVersion", "kind"} {
		delete(fields, identity)
	}
	if meta, ok := fields["metadata"].(map[string]any); ok {
		for _, identity := range []string{"name", "namespace", "uid", "resourceVersion"} {
			delete(meta, identity)
		}
	}
	return undoMap(fields, after, root), nil
}

// undoMap returns a map that differs from after in the fields that a patch of the map names. n is
// the node of the map in the permission tree, or nil.
func undoMap(patch, after map[string]any, n *schema.Node) map[string]any {
	out := maps.Clone(after)
	for key, value := range patch {
		if directive, field, _ := strings.Cut(key, "/"); strings.HasPrefix(key, "$") {
			switch directive {
			case "$setElementOrder": // orders a list and changes no field
			case "$deleteFromPrimitiveList":
				if gone, ok := value.([]any); ok {
					list, _ := after[field].([]any)
					out[field] = append(slices.Clone(list), gone...)
				}
			default: // $patch or $retainKeys, which may have removed any entry of the map
				return differentMap(after)
			}
			continue
		}
		now, there := after[key]
		switch v := value.(type) {
		case nil:
			out[key] = differentValue(now)
		case map[string]any:
			if m, ok := now.(map[string]any); ok {
				out[key] = undoMap(v, m, childNode(n, key))
			}
		case []any:
			if l, ok := now.([]any); ok {
				out[key] = undoList(v, l, childNode(n, key))
			}
		default:
			if there {
				out[key] = differentValue(now)
			}
		}
	}
	return out
}

// differentMap returns a map that differs in each field from after.
func differentMap(after map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range after {
		out[key] = differentValue(value)
	}
	return out
}

// undoList returns a list that differs from after in the elements that a patch of the list names.
// n is the node of the list in the permission tree, or nil.
func undoList(patch, after []any, n *schema.Node) []any {
	if n == nil || n.Kind != schema.ListMap || n.Elem() == nil {
		return withoutElements(after, patch)
	}
	out := slices.Clone(after)
	for _, p := range patch {
		named, ok := p.(map[string]any)
		if !ok {
			continue
		}
		if named["$patch"] == "replace" {
			return withoutElements(after, after)
		}
		index := slices.IndexFunc(after, func(e any) bool { return sameKeys(n, named, e) })
		merged := maps.Clone(named)
		if index < 0 {
			delete(merged, "$patch")
			out = append(out, merged) // the patch deleted this element
			continue
		}
		for _, k := range n.Keys() {
			delete(merged, k.Name)
		}
		out[index] = undoMap(merged, after[index].(map[string]any), n.Elem())
	}
	return out
}

// findElement returns the element of a list that has the given values of the list's map keys, or
// nil.
func findElement(list []any, n *schema.Node, keys map[string]any) any {
	for _, e := range list {
		if sameKeys(n, keys, e) {
			return e
		}
	}
	return nil
}

func sameKeys(n *schema.Node, a map[string]any, e any) bool {
	b, ok := e.(map[string]any)
	if !ok {
		return false
	}
	for _, k := range n.Keys() {
		x, given := a[k.Name]
		// A key that the patch omits has its default value, which only the response contains. So
		// such a key is not compared.
		if given && !reflect.DeepEqual(x, b[k.Name]) {
			return false
		}
	}
	return true
}

// withoutElements returns after without the elements in named, which are those that a patch
// contains. If after has none of them, it adds an element, so that the result always differs from
// after.
func withoutElements(after, named []any) []any {
	out := slices.DeleteFunc(slices.Clone(after), func(e any) bool {
		return contains(named, e)
	})
	if len(out) == len(after) {
		out = append(out, differentValue(nil))
	}
	return out
}

func contains(list []any, value any) bool {
	return slices.ContainsFunc(list, func(e any) bool { return reflect.DeepEqual(e, value) })
}

func childNode(n *schema.Node, field string) *schema.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == schema.Object:
		return n.Child(field)
	case n.Kind == schema.Map:
		return n.Elem()
	}
	return nil
}

// differentValue returns a different value of the same type.
func differentValue(value any) any {
	switch v := value.(type) {
	case string:
		return v + "~"
	case int64:
		return v + 1
	case float64:
		return v + 1
	case bool:
		return !v
	case []any:
		if len(v) > 0 {
			return []any{}
		}
	case map[string]any:
		if len(v) > 0 {
			return map[string]any{}
		}
	}
	return "~"
}

// operation is one operation of a JSON patch.
type operation struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	From string `json:"from"`
}

// undo changes the values in object that the operation wrote or moved, so that the object differs
// there from the result of the patch.
func (op operation) undo(object map[string]any) {
	switch op.Op {
	case "test":
		return
	case "move":
		setAt(object, pointerTokens(op.From), true)
	}
	setAt(object, pointerTokens(op.Path), op.Op == "remove")
}

func pointerTokens(path string) []string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// setAt changes the value at a path, or adds a value if there is none. removed is true if the patch
// removed the value.
func setAt(object any, path []string, removed bool) {
	for i, step := range path {
		last := i == len(path)-1
		switch v := object.(type) {
		case map[string]any:
			if last {
				v[step] = differentValue(v[step])
				return
			}
			if list, ok := v[step].([]any); ok && i == len(path)-2 {
				v[step] = setElement(list, path[i+1], removed)
				return
			}
			object = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return
			}
			object = v[n]
		default:
			return
		}
	}
}

// setElement returns list without the element that step refers to. step is the last step of a path
// in a JSON patch: an index, or "-" for the end of the list. If the patch removed that element, or
// list has no such element, setElement adds an element instead.
func setElement(list []any, step string, removed bool) []any {
	n, err := strconv.Atoi(step)
	switch {
	case removed:
		return append(slices.Clone(list), differentValue(nil))
	case step == "-" && len(list) > 0:
		return list[:len(list)-1]
	case err != nil || n < 0 || n >= len(list):
		return append(slices.Clone(list), differentValue(nil))
	}
	return slices.Delete(slices.Clone(list), n, n+1)
}
