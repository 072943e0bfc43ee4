// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command generate writes the comparison functions of package lowerbound to the file in its
// argument.
package main

import (
	"fmt"
	"os"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"kube-granular.dev/granular/schema"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: generate FILE")
	}
	source, err := source()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], source, 0o644)
}

func source() ([]byte, error) {
	models := map[string]*spec.Schema{}
	for name, d := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/components/schemas/" + name) }) {
		models[name] = &d.Schema
	}
	var kinds []kind
	for _, k := range []struct {
		of    reflect.Type
		model string
	}{
		{reflect.TypeFor[corev1.ConfigMap](), "io.k8s.api.core.v1.ConfigMap"},
		{reflect.TypeFor[appsv1.Deployment](), "io.k8s.api.apps.v1.Deployment"},
		{reflect.TypeFor[corev1.Node](), "io.k8s.api.core.v1.Node"},
		{reflect.TypeFor[corev1.Pod](), "io.k8s.api.core.v1.Pod"},
	} {
		tree, err := schema.Compile(models, k.model)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, kind{of: k.of, tree: tree})
	}
	return generate(kinds)
}
