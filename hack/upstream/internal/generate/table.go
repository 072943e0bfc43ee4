// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Generator is one entry of the table. Paths are relative to Kubernetes' root.
type Generator struct {
	Name string
	// Version must be increased when a change of this entry changes the output of the generator.
	Version int
	// Tag matches the comment, such as +k8s:openapi, that asks for this generator. The input of
	// the generator is each directory with a file that has the tag.
	Tag *regexp.Regexp
	// Directories below the folders in Except are not input. If Under is not empty, only
	// directories below its folders are input. Without a Tag, the folders in Under are the input.
	Except, Under []string
	// Sees returns the part of a source file that the generator reads.
	Sees func(src []byte) []byte
	// Patched is true if the code of this generator is patched, by the series patches/generators.
	Patched bool
	// After is the name of a generator whose output this generator reads.
	After string
	// Beside is true if the generator writes its output files into the directories of its input.
	Beside bool
	// Output reports whether the generator writes a file. Clear reports whether Run removes that
	// file before the generator runs, as upstream's script does, so that no outdated file remains.
	Output, Clear func(file string) bool

	run func(ctx context.Context, e Env, dirs []string) error
}

// Table lists the generators in the order in which they must run.
//
// Some generators of hack/update-codegen.sh are missing: protobuf, which needs protoc, and
// validation, prerelease-lifecycle, clients, listers and informers, because no patch changes
// their input. Before a patch changes such input, add an entry here.
var Table = []Generator{
	codeGenerator("deepcopy-gen", `\+k8s:deepcopy-gen=`, "zz_generated.deepcopy.go"),
	codeGenerator("defaulter-gen", `\+k8s:defaulter-gen=`, "zz_generated.defaults.go"),
	codeGenerator("conversion-gen", `(?m)^// *\+k8s:conversion-gen=`, "zz_generated.conversion.go",
		"--extra-peer-dirs", "k8s.io/kubernetes/pkg/apis/core",
		"--extra-peer-dirs", "k8s.io/kubernetes/pkg/apis/core/v1",
		"--extra-peer-dirs", "k8s.io/api/core/v1"),
	codeGenerator("register-gen", `\+k8s:register-gen=`, "zz_generated.register.go"),
	openAPI,
	stagingOpenAPI("apiextensions-apiserver", "k8s.io/api/autoscaling/v1"),
	stagingOpenAPI("kube-aggregator"),
	applyConfigurations,
	stagingApplyConfigurations("apiextensions-apiserver", "pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1"),
	compatibilityFixtures("apiextensions-apiserver", "pkg/apis", "pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1"),
}

// Find returns the entry with a name.
func Find(name string) (Generator, bool) {
	for _, g := range Table {
		if g.Name == name {
			return g, true
		}
	}
	return Generator{}, false
}

// WrittenBy returns the name of the generator that writes a file, or "".
func WrittenBy(file string) string {
	for _, g := range Table {
		if g.Output(file) {
			return g.Name
		}
	}
	return ""
}

const (
	boilerplate = "hack/boilerplate/boilerplate.generatego.txt"
	openAPIDir  = "pkg/generated/openapi"
	applyDir    = "staging/src/k8s.io/client-go/applyconfigurations/"
	metaV1      = "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/"
	stagingAPI  = "staging/src/k8s.io/api/"
)

// codeGenerator returns the entry for a generator of k8s.io/code-generator that writes one
// file into each tagged directory.
func codeGenerator(name, tag, output string, flags ...string) Generator {
	is := func(file string) bool { return path.Base(file) == output }
	return Generator{
		Name: name, Version: 1, Tag: regexp.MustCompile(tag), Sees: codeAndTags,
		Beside: true, Output: is, Clear: is,
		run: func(ctx context.Context, e Env, dirs []string) error {
			program, err := e.build(ctx, name, "k8s.io/code-generator/cmd/"+name)
			if err != nil {
				return err
			}
			args := append([]string{
				"--go-header-file", boilerplate,
				"--output-file", output,
				"--lint-rules=known-tags-only,require-explicit-disablement",
			}, flags...)
			_, err = e.exec(ctx, program, append(args, local(dirs)...)...)
			return err
		},
	}
}

var openAPI = Generator{
	Name: "openapi-gen", Version: 1, Patched: true,
	Tag: regexp.MustCompile(`\+k8s:openapi`),
	Except: []string{
		"staging/src/k8s.io/code-generator/", "staging/src/k8s.io/sample-apiserver/", "staging/src/k8s.io/sample-controller/",
	},
	Sees: func(src []byte) []byte { return src },
	Output: func(file string) bool {
		return file == openAPIDir+"/zz_generated.openapi.go" || path.Base(file) == "zz_generated.model_name.go"
	},
	Clear: func(file string) bool {
		return strings.HasPrefix(file, "pkg/generated/") && strings.HasPrefix(path.Base(file), "zz_generated.")
	},
	run: func(ctx context.Context, e Env, dirs []string) error {
		program, err := e.buildPatched(ctx, "openapi-gen", "./kube-openapi/cmd/openapi-gen")
		if err != nil {
			return err
		}
		_, err = e.exec(ctx, program, append([]string{
			"--go-header-file", boilerplate,
			"--output-file", "zz_generated.openapi.go",
			"--output-dir", openAPIDir,
			"--output-pkg", "k8s.io/kubernetes/" + openAPIDir,
			// Upstream compares this report with its list of known violations. The report is not used
			// here.
			"--report-filename", filepath.Join(e.Scratch, "api-violations.report"),
			"--output-model-name-file", "zz_generated.model_name.go",
		}, local(dirs)...)...)
		return err
	},
}

var applyConfigurations = Generator{
	Name: "applyconfiguration-gen", Version: 1, After: "openapi-gen",
	Under:  []string{stagingAPI, metaV1},
	Sees:   withoutMarkers,
	Output: func(file string) bool { return strings.HasPrefix(file, applyDir) && strings.HasSuffix(file, ".go") },
	Clear:  func(string) bool { return false },
	run: func(ctx context.Context, e Env, dirs []string) error {
		program, err := e.build(ctx, "applyconfiguration-gen", "k8s.io/code-generator/cmd/applyconfiguration-gen")
		if err != nil {
			return err
		}
		models, err := e.build(ctx, "models-schema", "k8s.io/kubernetes/"+openAPIDir+"/cmd/models-schema")
		if err != nil {
			return err
		}
		schema, err := e.execInto(ctx, "models-schema.json", models)
		if err != nil {
			return err
		}
		pkgs := make([]string, len(dirs))
		for i, d := range dirs {
			pkgs[i] = strings.TrimPrefix(d, "staging/src/")
		}
		_, err = e.exec(ctx, program, append([]string{
			"--openapi-schema", schema,
			"--go-header-file", boilerplate,
			"--output-dir", applyDir,
			"--output-pkg", "k8s.io/client-go/applyconfigurations",
		}, pkgs...)...)
		return err
	},
}

func local(dirs []string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = "./" + d
	}
	return out
}
