// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testmodels has small OpenAPI definitions that are modelled by hand on the built-in
// kinds. They are only for tests of this library. Field names are those of k8s.io/api, so that its
// Go types can be walked along the trees.
package testmodels

import (
	_ "embed"
	"fmt"
	"sync"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

//go:embed models.yaml
var source []byte

// Definitions returns the definitions by name.
var Definitions = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	out := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict(source, &out); err != nil {
		return nil, fmt.Errorf("models.yaml: %w", err)
	}
	return out, nil
})

// Tree compiles the permission tree of a kind, such as apps/v1 Deployment. A permission tree is the
// tree of a kind's fields, with the permissions that cover each of them.
func Tree(group, version, kind string) (*schema.Tree, error) {
	definitions, err := Definitions()
	if err != nil {
		return nil, err
	}
	return schema.ByKind(definitions, gvkschema.GroupVersionKind{Group: group, Version: version, Kind: kind})
}
