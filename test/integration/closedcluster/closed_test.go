// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	granularschema "kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
	"kube-granular.dev/test/integration/cluster"
)

// closed is the permission of every closed field. With one permission for all, a field that the server also sets
// because of another one can be closed together with it.
const closed = "example.com/closed"

// closing is a built-in resource in its preferred version, with the largest fields that can be closed.
type closing struct {
	name       string
	kind       schema.GroupVersionKind
	namespaced bool
	paths      []overlay.Path
}

// resources returns the resources that the server has and of which fields can be closed.
func resources(t *testing.T, client kubernetes.Interface) []*closing {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "staging", "src", "kube-granular.dev", "granular", "overlay", "builtin.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table map[string]json.RawMessage
	if err := json.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	lists, err := client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var out []*closing
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			name := schema.GroupResource{Group: gv.Group, Resource: r.Name}.String()
			if table[name+"/"+gv.Version] == nil {
				continue
			}
			found := &closing{name: name, kind: gv.WithKind(r.Kind), namespaced: r.Namespaced}
			found.close(t)
			out = append(out, found)
		}
	}
	return out
}

var definitions = sync.OnceValue(modelstest.BuiltIn)

// close finds the fields that can be closed: the largest ones, so that everything that can be closed is inside one of
// them.
func (r *closing) close(t *testing.T) {
	t.Helper()
	models, name := r.models(t)
	var visit func(c granularschema.Cursor, path overlay.Path, entered []string)
	visit = func(c granularschema.Cursor, path overlay.Path, entered []string) {
		if !c.Known() || len(path) > overlay.MaxSteps {
			return
		}
		if definition := c.Definition(); definition != "" {
			if slices.Contains(entered, definition) {
				return
			}
			entered = append(slices.Clone(entered), definition)
		}
		if len(path) > 0 && r.acceptable(models, path) {
			r.paths = append(r.paths, slices.Clone(path))
			return
		}
		for _, name := range c.Names() {
			visit(c.Field(name), append(path, overlay.Step{Name: name}), entered)
		}
		if len(path) > 0 {
			every := append(path, overlay.Step{Every: true})
			visit(c.Elem(), every, entered)
			visit(c.Values(), every, entered)
		}
	}
	visit(granularschema.NewModels(models).Cursor(name), nil, nil)
	for chunk := range slices.Chunk(r.paths, overlay.MaxFields) {
		for _, p := range overlay.Check(models, r.kind, r.entries(chunk...)) {
			t.Errorf("%s: %d: %s", r.name, p.Index, p.Message)
		}
	}
	if len(r.paths) == 0 {
		t.Errorf("%s: nothing can be closed", r.name)
	}
}

// models returns the definitions with that of the kind marked as such, as a server has them, and its name.
func (r *closing) models(t *testing.T) (map[string]*spec.Schema, string) {
	t.Helper()
	prefix := "io.k8s.api."
	suffix := "." + r.kind.Version + "." + r.kind.Kind
	group, _, _ := strings.Cut(r.kind.Group, ".")
	if group == "" {
		group = "core"
	}
	name := prefix + group + suffix
	if definitions()[name] == nil {
		t.Fatalf("%s: there is no definition %s", r.name, name)
	}
	return modelstest.Marked(definitions(), name, r.kind), name
}

func (r *closing) entries(paths ...overlay.Path) *overlay.Entries {
	out := &overlay.Entries{Source: r.name, Version: r.kind.Version, Enforced: true}
	for _, path := range paths {
		out.Fields = append(out.Fields, overlay.Field{Path: path, Permission: closed, Excluded: true})
	}
	return out
}

// acceptable reports whether a field can be closed, alone or together with others.
func (r *closing) acceptable(models map[string]*spec.Schema, path overlay.Path) bool {
	for _, p := range overlay.Check(models, r.kind, r.entries(path)) {
		if !strings.Contains(p.Message, "with the same permission") {
			return false
		}
	}
	return true
}

// object returns the FieldPermission that closes some fields.
func (r *closing) object(paths []overlay.Path) map[string]any {
	var fields []any
	for _, path := range paths {
		fields = append(fields, map[string]any{"path": path.String(), "permission": closed, "excluded": true})
	}
	return map[string]any{
		"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "FieldPermission", "metadata": map[string]any{"name": r.name},
		"spec": map[string]any{"version": r.kind.Version, "mode": "Enforce", "fields": fields},
	}
}
