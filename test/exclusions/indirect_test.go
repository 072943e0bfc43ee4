// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
)

// kindsByDefinition returns the kinds of all versions that are served, by the name of their definition.
func kindsByDefinition(t *testing.T) map[string]schema.GroupVersionKind {
	t.Helper()
	out := map[string]schema.GroupVersionKind{}
	for kind := range legacyscheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") || kind.Version == "__internal" || !legacyscheme.Scheme.IsVersionRegistered(kind.GroupVersion()) || removed(t, kind) {
			continue
		}
		obj, err := legacyscheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		if named, ok := obj.(interface{ OpenAPIModelName() string }); ok && definitions()[named.OpenAPIModelName()] != nil {
			out[named.OpenAPIModelName()] = kind
		}
	}
	return out
}

// noTemplates are resources whose specification other kinds contain, and of which no controller makes objects from it.
var noTemplates = map[string]string{
	"podtemplates":      "its definition is that of every pod template, in which entries of pods hold",
	"persistentvolumes": "an attachment of a volume that no PersistentVolume describes",
	"subjectaccessreviews.authorization.k8s.io": "a question, which nobody stores",
}

func resourceOf(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.GroupResource().String()
}

// TestIndirectWriters compares the templates in the table of indirect writers with those that the kinds of a server contain, and
// checks that each path in the table is that of a field.
//
// Attack: a closed field of a claim is set in the template of a StatefulSet, whose controller makes the claim
// Answer: open, because the controller writes for others; the author is warned, and the plan names the template
// Attack: the claims that pods use are closed, and the template of a StatefulSet has the name of somebody else's claim; or the owners
// of pods are closed, and the selector of a ReplicaSet takes them over
// Was: open, and nobody was warned
// Answer: open, because the controller writes for others; the author is warned
// Held by: TestIndirectWarnings
// Attack: the claim of a volume is closed, also in claims, and a claim selects the volume by its labels; or the owners of a claim are
// closed, and a StatefulSet of the right name becomes one; or the labels of a pod let its owner go
// Was: open, and nobody was warned
// Answer: open, because the controller writes for others; the author is warned of each field that it reads
// Held by: TestIndirectWarnings
func TestIndirectWriters(t *testing.T) {
	kinds := kindsByDefinition(t)
	specs := map[string]string{} // the definition of a specification, and its resource
	for name, kind := range kinds {
		if definitions()[name+"Spec"] != nil && kind.Kind != "Pod" {
			specs[name+"Spec"] = resourceOf(kind)
		}
	}
	var found, want []string
	for name, kind := range kinds {
		places(definitions()[name], "", []string{name}, func(definition, path string) bool {
			if resource := specs[definition]; resource != "" && resource != resourceOf(kind) && noTemplates[resource] == "" {
				found = append(found, resource+" in "+resourceOf(kind)+path)
			}
			return kind.Kind == "Pod" || definition != podSpec
		})
	}
	for _, w := range overlay.IndirectWriters() {
		if w.Template {
			want = append(want, w.Resource+" in "+w.Source+w.SourcePaths[0])
		}
		checkField(t, kinds, w.Resource, w.Path)
		for _, path := range w.SourcePaths {
			if !w.AddOn {
				checkField(t, kinds, w.Source, path)
			}
		}
	}
	slices.Sort(found)
	slices.Sort(want)
	if found = slices.Compact(found); !slices.Equal(found, want) {
		t.Errorf("found %q\nwant %q", found, want)
	}
}

// checkField checks that some version of a resource has a field.
func checkField(t *testing.T, kinds map[string]schema.GroupVersionKind, resource, path string) {
	t.Helper()
	parsed, err := overlay.ParsePath(path)
	if err != nil {
		t.Fatal(path, err)
	}
	for _, kind := range kinds {
		if resourceOf(kind) != resource {
			continue
		}
		e := &overlay.Entries{Source: resource, Version: kind.Version, Fields: []overlay.Field{{Path: parsed, Permission: "example.com/a"}}}
		_, outcomes, err := overlay.Apply(modelsOf(t, kind), kind, e, true)
		if err == nil && outcomes[0].State == overlay.Active {
			return
		}
	}
	t.Errorf("%s has no field %s", resource, path)
}
