// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package marker

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

var update = flag.Bool("update", false, "write the golden parts of testdata")

// archive is one file of testdata: a tree of files with Go types and the definition crd.yaml, and the parts
// "want" (the definition with extensions) and "errors". The comment at its start names the folders.
type archive struct {
	*txtar.Archive
	file string
}

// read puts the files of an archive into an empty folder, and makes it the working directory.
func read(t *testing.T, file string) archive {
	t.Helper()
	parsed, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range parsed.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return archive{parsed, absolute}
}

// part returns the content of a file of the archive.
func (a *archive) part(name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// compare compares a part with what it should be, or writes it.
func (a *archive) compare(t *testing.T, name, got string) {
	t.Helper()
	if got == a.part(name) {
		return
	}
	t.Errorf("%s: %s (-want +got):\n%s", filepath.Base(a.file), name, cmp.Diff(a.part(name), got))
	if !*update {
		return
	}
	a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(got)})
	if err := os.WriteFile(a.file, txtar.Format(a.Archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// folders returns the folders that the comment of the archive names.
func (a *archive) folders() []string {
	_, list, _ := strings.Cut(strings.TrimSpace(string(a.Comment)), "folders:")
	if fields := strings.Fields(list); len(fields) > 0 {
		return fields
	}
	return []string{"./api/..."}
}

// TestMark holds what is written for the files of testdata, or which mistakes are found in them.
func TestMark(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a := read(t, file)
			definition := File{"crd.yaml", []byte(a.part("crd.yaml"))}
			marked, added, err := Mark(a.folders(), []File{definition})
			if err != nil {
				a.compare(t, "errors", err.Error()+"\n")
				return
			}
			a.compare(t, "errors", "")
			a.compare(t, "want", string(marked[0].Data))
			if len(added) == 0 {
				t.Error("nothing was added")
			}
			if diff := cmp.Diff(withoutExtensions(t, definition.Data), withoutExtensions(t, marked[0].Data)); diff != "" {
				t.Errorf("something else has changed (-before +after):\n%s", diff)
			}
			again, more, err := Mark(a.folders(), marked)
			if err != nil || len(more) > 0 || !bytes.Equal(again[0].Data, marked[0].Data) {
				t.Errorf("a second run adds %v, %v", more, err)
			}
			onlyAdded(t, definition.Data, marked[0].Data)
		})
	}
}

// onlyAdded checks that a text has all lines of another one, in their order, and otherwise only extensions.
func onlyAdded(t *testing.T, before, after []byte) {
	t.Helper()
	left := bytes.SplitAfter(before, []byte("\n"))
	for _, line := range bytes.SplitAfter(after, []byte("\n")) {
		if len(left) > 0 && bytes.Equal(line, left[0]) {
			left = left[1:]
			continue
		}
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("x-kubernetes-permission-")) {
			t.Errorf("the line %q is new", line)
		}
	}
	if len(left) > 0 {
		t.Errorf("the line %q is gone", left[0])
	}
}

// withoutExtensions returns all documents of a file as JSON, without permission extensions.
func withoutExtensions(t *testing.T, data []byte) string {
	t.Helper()
	var out strings.Builder
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var value any
		if err := yaml.Unmarshal(document, &value); err != nil {
			t.Fatal(err)
		}
		text, err := json.MarshalIndent(stripped(value), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", text)
	}
	return out.String()
}

func stripped(value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, _ any) bool { return schema.IsPermissionExtension(key) })
		for key := range v {
			v[key] = stripped(v[key])
		}
	case []any:
		for i := range v {
			v[i] = stripped(v[i])
		}
	}
	return value
}

// TestParse holds which markers are valid, and what is wrong with others.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"permission=replicas":                                   "0 x-kubernetes-permission-verb: replicas",
		"permission=example.com/a":                              "0 x-kubernetes-permission-verb: example.com/a",
		`permission="example.com/a"`:                            "0 x-kubernetes-permission-verb: example.com/a",
		"permission=image,imageFrom":                            "0 x-kubernetes-permission-verb: image,imageFrom",
		"permission=none":                                       "0 x-kubernetes-permission-verb: none",
		"permission= replicas ":                                 "0 x-kubernetes-permission-verb: replicas",
		"items:items:permission=mark":                           "2 x-kubernetes-permission-verb: mark",
		"permission:excluded":                                   "0 x-kubernetes-permission-excluded: true",
		"permission:scope=podTemplate":                          "0 x-kubernetes-permission-scope: podTemplate",
		"permission:parameter-source=true":                      `0 x-kubernetes-permission-parameter-source: "true"`,
		`permission:parameterized-by="1"`:                       `0 x-kubernetes-permission-parameterized-by: "1"`,
		"permission:parameter-treatment=slash-delimited-prefix": "0 x-kubernetes-permission-parameter-treatment: slash-delimited-prefix",
		"permission:parameter-expression=self.split('=')[0]":    "0 x-kubernetes-permission-parameter-expression: self.split('=')[0]",
		"permission:parameter-expression=`\"a: \" + self`":      `0 x-kubernetes-permission-parameter-expression: '"a: " + self'`,

		"permission":                         "+kube-granular:permission: the marker needs a value",
		"permission=":                        "+kube-granular:permission: the marker needs a value",
		`permission=""`:                      "+kube-granular:permission: the marker needs a value",
		`permission="a`:                      "+kube-granular:permission: the quotation marks around the value don't match",
		"permission=Replicas":                "+kube-granular:permission: permission: the name must begin with a lower-case letter",
		"permission=granular:replicas":       `+kube-granular:permission: permission: the name must not begin with "granular:", `,
		"permission=granular":                "+kube-granular:permission: permission: the name is reserved for the general verb",
		"permission=a,":                      "+kube-granular:permission: permission: the name is empty",
		"permission:excluded=true":           "+kube-granular:permission:excluded takes no value; ",
		"permission:excluded=false":          "+kube-granular:permission:excluded takes no value; ",
		"permission:parameter-treatment=all": "+kube-granular:permission:parameter-treatment: unknown parameter treatment, must be ",
		"permission:scope=Pod":               "+kube-granular:permission:scope: permission: the name must begin with a lower-case letter",
		"permision=a":                        "unknown marker; did you mean +kube-granular:permission?",
		"permission:exclude":                 "unknown marker; did you mean +kube-granular:permission:excluded?",
		"permission:element=a":               "unknown marker; did you mean",
		"x":                                  `unknown marker; after "+kube-granular:", one of permission, permission:excluded,`,
		"items:":                             "unknown marker; ",
	} {
		m, err := parse(text)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d %s: %s", m.below, m.extension, m.value)
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestExtensionsAreThoseOfDefinitions holds that there is a marker for each extension that a definition can have.
func TestExtensionsAreThoseOfDefinitions(t *testing.T) {
	want := []string{schema.ExtVerb, schema.ExtExcluded, schema.ExtSource, schema.ExtParameterized, schema.ExtTreatment,
		schema.ExtExpression, schema.ExtScope}
	if got := slices.Sorted(maps.Values(extensions)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("markers for %v, want %v", got, want)
	}
}

// TestFoldersThatCantBeRead holds the errors for folders and files that are no use.
func TestFoldersThatCantBeRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"broken/types.go": "package broken\n\ntype", "empty/readme.md": "", "fine/types.go": "package fine\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ folder, data, want string }{
		{"./none", "", "none"},
		{"./none/...", "", "none"},
		{"./empty", "", "no buildable Go source files in empty"},
		{"./broken", "", "types.go:3"},
		{"./fine", "kind: ConfigMap\n", "crd.yaml: the file has no CustomResourceDefinition"},
		{"./empty/...", "", "crd.yaml: the file has no CustomResourceDefinition"},
		{"./fine", "a: [", "crd.yaml: yaml: "},
		{"./fine", "kind: CustomResourceDefinition\n", "crd.yaml:1: the definition has no versions"},
		{"./fine", "kind: CustomResourceDefinition\nspec:\n  versions:\n  - name: v1\n", "crd.yaml:4: version v1 has no schema"},
	} {
		_, _, err := Mark([]string{test.folder}, []File{{"crd.yaml", []byte(test.data)}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.folder, err, test.want)
		}
	}
}
