// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/crd"
	"kube-granular.dev/pkg/expression"
	"kube-granular.dev/pkg/modelstest"
)

var update = flag.Bool("update", false, "rewrite what the scenarios expect, instead of checking the library against it")

// init lets the models of custom resources complete their permissions from the definitions, as
// the server does.
func init() { granular.Install(crd.New(func() bool { return true }, expression.Accepted())) }

// definitions returns the OpenAPI models of all built-in kinds, by name.
var definitions = sync.OnceValue(modelstest.BuiltIn)

// custom returns the OpenAPI models of the custom resources in crds/, by kind. The server
// builds its models in the same way.
var custom = sync.OnceValues(func() (map[gvkschema.GroupVersionKind]map[string]*spec.Schema, error) {
	files, err := filepath.Glob("crds/*.yaml")
	if err != nil {
		return nil, err
	}
	out := map[gvkschema.GroupVersionKind]map[string]*spec.Schema{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		crd.Status.AcceptedNames = crd.Spec.Names
		for _, version := range crd.Spec.Versions {
			built, err := builder.BuildOpenAPIV3(&crd, version.Name, builder.Options{})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			static := &spec3.OpenAPI{Version: "3.0.0", Info: &spec.Info{},
				Components: &spec3.Components{Schemas: definitions()}}
			merged, err := builder.MergeSpecsV3(static, built)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out[gvkschema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = merged.Components.Schemas
		}
	}
	return out, nil
})

// treeOf compiles the permission tree of a kind: the tree of its fields, with the permission
// that each needs. It returns nil for a kind that no server serves and that only the library's
// own tests use.
func treeOf(t *testing.T, gvk gvkschema.GroupVersionKind) *schema.Tree {
	t.Helper()
	resources, err := custom()
	if err != nil {
		t.Fatal(err)
	}
	var tree *schema.Tree
	if models, ok := resources[gvk]; ok {
		tree, err = schema.ByKind(models, gvk)
	} else if object, unknown := scheme.Scheme.New(gvk); unknown == nil {
		tree, err = schema.Compile(definitions(), object.(interface{ OpenAPIModelName() string }).OpenAPIModelName())
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// typed returns a function that decodes an object into the Go type of its built-in kind. It
// returns nil for a nil object.
func typed(gvk gvkschema.GroupVersionKind) func(corpus.Object) (any, error) {
	return func(o corpus.Object) (any, error) {
		out, err := scheme.Scheme.New(gvk)
		if err != nil || o == nil {
			return nil, err
		}
		data, err := json.Marshal(o)
		if err == nil {
			err = yaml.UnmarshalStrict(data, out)
		}
		return out, err
	}
}

func run(t *testing.T, s *corpus.Scenario, tree *schema.Tree, object func(corpus.Object) (any, error)) corpus.Outcome {
	t.Helper()
	got, err := corpus.Run(s, change.NewWalker(tree), object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCorpus(t *testing.T) {
	scenarios, err := corpus.Load(".")
	if *update {
		scenarios, err = corpus.Read(".")
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) < 150 {
		t.Errorf("there are only %d scenarios", len(scenarios))
	}
	outcomes := map[string]corpus.Outcome{}
	for i := range scenarios {
		s := &scenarios[i]
		tree := treeOf(t, s.GVK())
		if tree == nil {
			if s.LibraryOnly == "" {
				t.Errorf("%s: no server knows the kind %s", s.Name, s.Kind)
			}
			continue
		}
		if *update {
			outcomes[s.Name] = run(t, s, tree, corpus.Plain)
			continue
		}
		t.Run(s.File+"/"+s.Name, func(t *testing.T) {
			if diff := cmp.Diff(s.Want(), run(t, s, tree, corpus.Plain)); diff != "" {
				t.Errorf("unstructured; if this is meant, run with -update and read what changed (-want +got):\n%s", diff)
			}
			if !scheme.Scheme.Recognizes(s.GVK()) {
				return
			}
			if diff := cmp.Diff(s.Want(), run(t, s, tree, typed(s.GVK()))); diff != "" {
				t.Errorf("Go type (-want +got):\n%s", diff)
			}
			if s.Decision == corpus.Allow {
				everyUsedGrantIsNeeded(t, *s, tree)
			}
		})
	}
	if *update {
		files, err := corpus.Rewrite(scenarios, outcomes)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("REWROTE the verdicts in %q; read every line that changed", files)
	}
}

// everyUsedGrantIsNeeded checks an allowed scenario: if the caller lacks any one of the grants
// that the server asked for, the request must be refused.
func everyUsedGrantIsNeeded(t *testing.T, s corpus.Scenario, tree *schema.Tree) {
	t.Helper()
	grants := s.Grants
	for _, grant := range grants {
		if !slices.Contains(s.Asked, grant) {
			continue
		}
		s.Grants = slices.DeleteFunc(slices.Clone(grants), func(g string) bool { return g == grant })
		if run(t, &s, tree, corpus.Plain).Decision != corpus.Forbidden {
			t.Errorf("allowed without %s", grant)
		}
	}
}
