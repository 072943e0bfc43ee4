// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schematest compiles the permission trees of tests from text.
//
// The invariant: a tree is compiled as a server compiles it, or the test fails.
//
// Only tests import the package.
package schematest

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// Compile returns the permission tree of a schema, which is JSON.
func Compile(t testing.TB, text string) *schema.Tree {
	t.Helper()
	root := &spec.Schema{}
	if err := json.Unmarshal([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"root": root}).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
