// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusions

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/granular/overlay"
)

// templateOf returns the path of the pod template of a resource, by where an entry of pods holds there.
func templateOf(t *testing.T, resource schema.GroupResource) overlay.Path {
	t.Helper()
	path, err := overlay.ParsePath(".spec.hostNetwork")
	if err != nil {
		t.Fatal(err)
	}
	e := overlay.InForce(resource, nil, &overlay.Entries{Source: "pods", Version: "v1", Fields: []overlay.Field{{Path: path, Permission: "example.com/a", Excluded: true}}})
	if e == nil || len(e.Fields) != 1 || !strings.HasSuffix(e.Fields[0].Path.String(), ".spec.hostNetwork") {
		t.Fatalf("%s: %+v", resource, e)
	}
	return e.Fields[0].Path[:len(e.Fields[0].Path)-len(path)]
}

const podSpec = "io.k8s.api.core.v1.PodSpec"

// podSpecs adds the paths at which a schema has the specification of a pod.
func podSpecs(s *spec.Schema, path string, entered []string, out map[string]bool) {
	places(s, path, entered, func(name, path string) bool {
		if name == podSpec {
			out[path] = true
		}
		return name != podSpec
	})
}

// places calls found for each definition that a schema has at or below a path, and does not look into it if found returns
// false.
func places(s *spec.Schema, path string, entered []string, found func(name, path string) bool) {
	if ref := s.Ref.String(); ref != "" {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		if slices.Contains(entered, name) {
			return
		}
		if found(name, path) {
			places(definitions()[name], path, append(entered, name), found)
		}
	}
	for i := range s.AllOf {
		places(&s.AllOf[i], path, entered, found)
	}
	for name := range s.Properties {
		below := s.Properties[name]
		places(&below, path+"."+name, entered, found)
	}
	if s.Items != nil && s.Items.Schema != nil {
		places(s.Items.Schema, path+"[*]", entered, found)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		places(s.AdditionalProperties.Schema, path+"[*]", entered, found)
	}
}

// TestPodTemplates looks at all kinds of all versions that are served for places of core/v1.PodSpec, and compares these with
// those in which entries of pods hold.
//
// Attack: a new kind, or a new version of one, has a pod template in which no entry of pods holds
// Answer: a test reads the schema of every kind that a server has
func TestPodTemplates(t *testing.T) {
	found := map[string]bool{}
	for kind := range legacyscheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") || kind.Version == "__internal" || !legacyscheme.Scheme.IsVersionRegistered(kind.GroupVersion()) || removed(t, kind) {
			continue
		}
		obj, err := legacyscheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		named, ok := obj.(interface{ OpenAPIModelName() string })
		if !ok || definitions()[named.OpenAPIModelName()] == nil {
			continue // options of a request
		}
		specs := map[string]bool{}
		podSpecs(definitions()[named.OpenAPIModelName()], "", []string{named.OpenAPIModelName()}, specs)
		for place := range specs {
			plural, _ := meta.UnsafeGuessKindToResource(kind)
			found[plural.GroupResource().String()+" "+kind.Version+" "+place] = true
		}
	}
	want := map[string]bool{"pods v1 .spec": true}
	for _, resource := range overlay.Templates() {
		want[resource.String()+" v1 "+templateOf(t, resource).String()+".spec"] = true
	}
	if !maps.Equal(found, want) {
		t.Errorf("found %v, want %v", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(want)))
	}
}

// TestAlsoReachable holds that the status of an entry for one sort of containers names the others.
func TestAlsoReachable(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	for path, want := range map[string][]string{
		".spec.containers[*].image":                               {".spec.ephemeralContainers[*].image", ".spec.initContainers[*].image"},
		".spec.ephemeralContainers[*].securityContext.privileged": {".spec.containers[*].securityContext.privileged", ".spec.initContainers[*].securityContext.privileged"},
		".spec.ephemeralContainers[*].targetContainerName":        nil, // others have no such field
		".spec.hostNetwork":                                       nil,
	} {
		parsed, err := overlay.ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		e := &overlay.Entries{Source: "pods", Version: "v1", Enforced: true, Fields: []overlay.Field{{Path: parsed, Permission: "example.com/a", Excluded: true}}}
		_, outcomes, err := overlay.Apply(modelsOf(t, kind), kind, e, true)
		if err != nil || !slices.Equal(outcomes[0].AlsoReachable, want) {
			t.Errorf("%s: %q, want %q (%v)", path, outcomes[0].AlsoReachable, want, err)
		}
	}
}
