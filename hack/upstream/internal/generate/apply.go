// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"regexp"
	"strings"
)

// stagingApplyConfigurations returns the table entry for a staging module that contains the apply
// configurations of its own APIs, such as the module of custom resource definitions.
func stagingApplyConfigurations(module string, apis ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	applyDir := dir + "pkg/client/applyconfiguration/"
	var inputs []string
	for _, api := range apis {
		inputs = append(inputs, dir+api+"/")
	}
	return Generator{
		Name: "applyconfiguration-gen/" + module, Version: 1, After: "openapi-gen/" + module,
		Tag: regexp.MustCompile(`\+groupName=`), Under: inputs,
		Sees:   withoutMarkers,
		Output: func(file string) bool { return strings.HasPrefix(file, applyDir) && strings.HasSuffix(file, ".go") },
		Clear:  func(string) bool { return false },
		run: func(ctx context.Context, e Env, _ []string) error {
			program, err := e.build(ctx, "applyconfiguration-gen", "k8s.io/code-generator/cmd/applyconfiguration-gen")
			if err != nil {
				return err
			}
			models, err := e.build(ctx, module+"-models-schema", "k8s.io/"+module+"/"+openAPIDir+"/cmd/models-schema")
			if err != nil {
				return err
			}
			schema, err := e.execInto(ctx, module+"-models-schema.json", models)
			if err != nil {
				return err
			}
			args := []string{
				"--openapi-schema", schema,
				"--go-header-file", dir + "hack/boilerplate.go.txt",
				"--output-dir", applyDir,
				"--output-pkg", "k8s.io/" + module + "/pkg/client/applyconfiguration",
				"--lint-rules=known-tags-only,require-explicit-disablement",
			}
			for _, api := range apis {
				args = append(args, "k8s.io/"+module+"/"+api)
			}
			_, err = e.exec(ctx, program, args...)
			return err
		},
	}
}
