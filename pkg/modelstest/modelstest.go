// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelstest has the OpenAPI models of the built-in kinds for tests, with the permissions of the markers.
//
// The invariant: a server compiles its trees from the same models.
//
// Only tests import the package.
package modelstest

import (
	"maps"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// BuiltIn makes the models of the built-in kinds, by name.
func BuiltIn() map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/components/schemas/" + name)
	}) {
		out[name] = &definition.Schema
	}
	return out
}

// Marked returns the models with one marked as that of a kind, as a server has it. The given models stay as they are.
func Marked(models map[string]*spec.Schema, name string, kind gvk.GroupVersionKind) map[string]*spec.Schema {
	marked := *models[name]
	marked.Extensions = maps.Clone(marked.Extensions)
	marked.AddExtension("x-kubernetes-group-version-kind",
		[]any{map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}})
	out := maps.Clone(models)
	out[name] = &marked
	return out
}
