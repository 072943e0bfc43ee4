// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
)

// stagingOpenAPI returns the entry for a staging module that serves its own OpenAPI models, such as
// the servers of custom resources and of APIServices. Their models contain ObjectMeta too, so the
// models need the markers, the comments that declare permissions.
func stagingOpenAPI(module string, extra ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	shared := []string{
		"k8s.io/apimachinery/pkg/apis/meta/v1",
		"k8s.io/apimachinery/pkg/runtime",
		"k8s.io/apimachinery/pkg/version",
		"k8s.io/apimachinery/pkg/api/resource",
	}
	inputs := []string{dir + "pkg/"}
	for _, pkg := range append(shared, extra...) {
		inputs = append(inputs, "staging/src/"+pkg+"/")
	}
	output := dir + openAPIDir + "/zz_generated.openapi.go"
	is := func(file string) bool { return file == output }
	return Generator{
		Name: "openapi-gen/" + module, Version: 1, Patched: true,
		Tag: regexp.MustCompile(`\+k8s:openapi`), Under: inputs,
		Sees:   func(src []byte) []byte { return src },
		Output: is, Clear: is,
		run: func(ctx context.Context, e Env, dirs []string) error {
			program, err := e.buildPatched(ctx, "openapi-gen", "./kube-openapi/cmd/openapi-gen")
			if err != nil {
				return err
			}
			args := []string{
				"--go-header-file", dir + "hack/boilerplate.go.txt",
				"--output-file", "zz_generated.openapi.go",
				"--output-dir", dir + openAPIDir,
				"--output-pkg", "k8s.io/" + module + "/" + openAPIDir,
				"--report-filename", filepath.Join(e.Scratch, module+"-api-violations.report"),
				"--output-model-name-file", "zz_generated.model_name.go",
			}
			for _, pkg := range append(shared, extra...) {
				args = append(args, "--readonly-pkg", pkg)
			}
			// As in upstream's script, the arguments are all shared packages, tagged or not, and the
			// tagged packages of the module itself.
			args = append(args, append(shared, extra...)...)
			for _, d := range dirs {
				if strings.HasPrefix(d+"/", dir) {
					args = append(args, "./"+d)
				}
			}
			_, err = e.exec(ctx, program, args...)
			return err
		},
	}
}
