// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate runs upstream's code generators for the files that the patches change.
//
// Table lists the generators. Each entry has the input directories, the output files and the command, as in
// hack/update-codegen.sh of Kubernetes. Invariant: on a tree without patches, every generator writes the same
// bytes as upstream has. The package does not decide which output is kept: package carry does.
package generate

import (
	"context"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"kube-granular.dev/hack/upstream/internal/project"
)

// Generator is one entry of the table. Paths are relative to Kubernetes' root.
type Generator struct {
	Name string
	// Version must be increased when a change of this entry changes the output of the generator.
	Version int
	// Tag matches the comment, such as +k8s:openapi, that asks for this generator. The input of the generator is
	// each directory with a file that has the tag.
	Tag *regexp.Regexp
	// Directories below the folders in Except are not input. If Under is not empty, only directories below its
	// folders are input. Without a Tag, the folders in Under are the input.
	Except, Under []string
	// Sees returns the part of a source file that the generator reads.
	Sees func(src []byte) []byte
	// Patched is true if the code of this generator is patched, by the series patches/generators.
	Patched bool
	// After is the name of a generator whose output this generator reads.
	After string
	// Output reports whether the generator writes a file. Clear reports whether Run removes that file before the
	// generator runs for directories, as upstream's script does, so that no outdated file remains.
	Output func(file string) bool
	Clear  func(file string, dirs []string) bool

	run func(ctx context.Context, e Env, dirs []string) error
}

const (
	boilerplate = "hack/boilerplate/boilerplate.generatego.txt"
	openAPIDir  = "pkg/generated/openapi"
	metaV1      = "staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/"
	stagingAPI  = "staging/src/k8s.io/api/"
	lint        = "--lint-rules=known-tags-only,require-explicit-disablement"
)

// Table lists the generators in the order in which they must run.
//
// Some generators of hack/update-codegen.sh are missing: protobuf, which needs protoc, and validation,
// prerelease-lifecycle, clients, listers and informers, because no patch changes their input. Before a patch
// changes such input, add an entry here.
var Table = []Generator{
	codeGenerator("deepcopy-gen", `\+k8s:deepcopy-gen=`, "zz_generated.deepcopy.go"),
	codeGenerator("defaulter-gen", `\+k8s:defaulter-gen=`, "zz_generated.defaults.go"),
	codeGenerator("conversion-gen", `(?m)^// *\+k8s:conversion-gen=`, "zz_generated.conversion.go",
		"--extra-peer-dirs", "k8s.io/kubernetes/pkg/apis/core",
		"--extra-peer-dirs", "k8s.io/kubernetes/pkg/apis/core/v1",
		"--extra-peer-dirs", "k8s.io/api/core/v1"),
	codeGenerator("register-gen", `\+k8s:register-gen=`, "zz_generated.register.go"),
	openAPI(),
	stagingOpenAPI("apiextensions-apiserver", "k8s.io/api/autoscaling/v1"),
	stagingOpenAPI("kube-aggregator"),
	applyConfigurations(),
	stagingApplyConfigurations("apiextensions-apiserver", "pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1"),
	compatibilityFixtures("apiextensions-apiserver", "pkg/apis", "pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1"),
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

// each returns texts with others before and after them.
func each(before string, texts []string, after string) (out []string) {
	for _, t := range texts {
		out = append(out, before+t+after)
	}
	return out
}

// codeGenerator returns the entry for a generator of k8s.io/code-generator that writes one file into each tagged
// directory.
func codeGenerator(name, tag, output string, flags ...string) Generator {
	match := func(file string) bool { return path.Base(file) == output }
	return Generator{
		Name: name, Version: 1, Tag: regexp.MustCompile(tag), Sees: codeAndTags, Output: match,
		Clear: func(file string, dirs []string) bool { return match(file) && slices.Contains(dirs, path.Dir(file)) },
		run: func(ctx context.Context, e Env, dirs []string) error {
			program, err := e.kubernetes(ctx, name, "k8s.io/code-generator/cmd/"+name)
			if err != nil {
				return err
			}
			args := append([]string{"--go-header-file", boilerplate, "--output-file", output, lint}, flags...)
			_, err = e.exec(ctx, program, append(args, each("./", dirs, "")...)...)
			return err
		},
	}
}

// openAPI returns the entry for the models of all built-in APIs.
func openAPI() Generator {
	return Generator{
		Name: "openapi-gen", Version: 1, Patched: true, Tag: regexp.MustCompile(`\+k8s:openapi`), Sees: whole,
		Except: []string{"staging/src/k8s.io/code-generator/", "staging/src/k8s.io/sample-apiserver/"},
		Output: func(file string) bool {
			return file == openAPIDir+"/zz_generated.openapi.go" || path.Base(file) == "zz_generated.model_name.go"
		},
		Clear: func(file string, _ []string) bool { return file == openAPIDir+"/zz_generated.openapi.go" },
		run: func(ctx context.Context, e Env, dirs []string) error {
			return runOpenAPI(ctx, e, boilerplate, openAPIDir, "k8s.io/kubernetes/"+openAPIDir, each("./", dirs, "")...)
		},
	}
}

// runOpenAPI runs openapi-gen. Upstream compares the report with its list of known violations; it is not used here.
func runOpenAPI(ctx context.Context, e Env, header, dir, pkg string, args ...string) error {
	program, err := e.build(ctx, "openapi-gen", project.Generators, project.GeneratorsWork, "./kube-openapi/cmd/openapi-gen")
	if err != nil {
		return err
	}
	_, err = e.exec(ctx, program, append([]string{
		"--go-header-file", header, "--output-file", "zz_generated.openapi.go", "--output-dir", dir, "--output-pkg", pkg,
		"--report-filename", e.scratch("api-violations.report"), "--output-model-name-file", "zz_generated.model_name.go",
	}, args...)...)
	return err
}

// stagingOpenAPI returns the entry for a staging module that serves its own OpenAPI models, such as the servers of
// custom resources and of APIServices. Their models contain ObjectMeta too, so the models need the markers, the
// comments that declare permissions.
func stagingOpenAPI(module string, extra ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	shared := append([]string{"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime",
		"k8s.io/apimachinery/pkg/version", "k8s.io/apimachinery/pkg/api/resource"}, extra...)
	match := func(file string) bool { return file == dir+openAPIDir+"/zz_generated.openapi.go" }
	return Generator{
		Name: "openapi-gen/" + module, Version: 1, Patched: true, Tag: regexp.MustCompile(`\+k8s:openapi`), Sees: whole,
		Under: append([]string{dir + "pkg/"}, each("staging/src/", shared, "/")...), Output: match,
		Clear: func(file string, _ []string) bool { return match(file) },
		run: func(ctx context.Context, e Env, dirs []string) error {
			// As in upstream's script, the arguments are all shared packages, tagged or not, and the tagged packages
			// of the module itself.
			var args []string
			for _, pkg := range shared {
				args = append(args, "--readonly-pkg", pkg)
			}
			args = append(args, shared...)
			for _, d := range dirs {
				if strings.HasPrefix(d+"/", dir) {
					args = append(args, "./"+d)
				}
			}
			return runOpenAPI(ctx, e, dir+"hack/boilerplate.go.txt", dir+openAPIDir, "k8s.io/"+module+"/"+openAPIDir, args...)
		},
	}
}

// applyConfigurations returns the entry for the apply configurations of all built-in APIs.
func applyConfigurations() Generator {
	const dir = "staging/src/k8s.io/client-go/applyconfigurations/"
	return Generator{
		Name: "applyconfiguration-gen", Version: 1, After: "openapi-gen", Under: []string{stagingAPI, metaV1}, Sees: withoutMarkers,
		Output: func(file string) bool { return strings.HasPrefix(file, dir) && strings.HasSuffix(file, ".go") },
		run: func(ctx context.Context, e Env, dirs []string) error {
			args := []string{"--go-header-file", boilerplate, "--output-dir", dir, "--output-pkg", "k8s.io/client-go/applyconfigurations"}
			for _, d := range dirs {
				args = append(args, strings.TrimPrefix(d, "staging/src/"))
			}
			return runApply(ctx, e, "models-schema", "k8s.io/kubernetes/", args...)
		},
	}
}

// runApply runs applyconfiguration-gen with the schema that a program of a module prints.
func runApply(ctx context.Context, e Env, name, module string, args ...string) error {
	program, err := e.kubernetes(ctx, "applyconfiguration-gen", "k8s.io/code-generator/cmd/applyconfiguration-gen")
	if err != nil {
		return err
	}
	models, err := e.kubernetes(ctx, name, module+openAPIDir+"/cmd/models-schema")
	if err != nil {
		return err
	}
	data, err := e.exec(ctx, models)
	if err != nil {
		return err
	}
	schema := e.scratch(name + ".json")
	if err := os.WriteFile(schema, data, 0o644); err != nil {
		return err
	}
	_, err = e.exec(ctx, program, append([]string{"--openapi-schema", schema}, args...)...)
	return err
}

// stagingApplyConfigurations returns the entry for a staging module that contains the apply configurations of its
// own APIs, such as the module of custom resource definitions.
func stagingApplyConfigurations(module string, apis ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	output := dir + "pkg/client/applyconfiguration/"
	return Generator{
		Name: "applyconfiguration-gen/" + module, Version: 1, After: "openapi-gen/" + module,
		Tag: regexp.MustCompile(`\+groupName=`), Under: each(dir, apis, "/"), Sees: withoutMarkers,
		Output: func(file string) bool { return strings.HasPrefix(file, output) && strings.HasSuffix(file, ".go") },
		run: func(ctx context.Context, e Env, _ []string) error {
			return runApply(ctx, e, module+"-models-schema", "k8s.io/"+module+"/", append([]string{"--go-header-file", dir + "hack/boilerplate.go.txt",
				"--output-dir", output, "--output-pkg", "k8s.io/" + module + "/pkg/client/applyconfiguration", lint}, each("k8s.io/"+module+"/", apis, "")...)...)
		},
	}
}

// compatibilityFixtures returns the table entry for the fixtures of a compatibility test: objects in every encoding
// that new versions of an API must still read. Some fixtures are binary, and a patch may not contain binary files,
// so they are generated. The test that reads the fixtures also writes them.
func compatibilityFixtures(module, pkg string, apis ...string) Generator {
	dir := "staging/src/k8s.io/" + module + "/"
	return Generator{
		Name: "compatibility-fixtures/" + module, Version: 1,
		Tag: regexp.MustCompile(`\+groupName=`), Under: each(dir, apis, "/"), Sees: codeAndTags,
		Output: func(file string) bool { return strings.HasPrefix(file, dir+pkg+"/testdata/HEAD/") },
		run: func(ctx context.Context, e Env, _ []string) error {
			test := []string{"go", "test", "-run", "^TestCompatibility$", "k8s.io/" + module + "/" + pkg}
			// The test fails if it has written something. It must pass when it runs again.
			if _, err := e.exec(ctx, "env", append([]string{"UPDATE_COMPATIBILITY_FIXTURE_DATA=true"}, test...)...); err == nil {
				return nil
			}
			_, err := e.exec(ctx, test[0], test[1:]...)
			return err
		},
	}
}
