// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schemas

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "docs", "schemas", name))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// cases reads a file of testdata.
func cases[T any](t *testing.T, name string) (out []T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &out); err != nil || len(out) == 0 {
		t.Fatalf("%d cases: %v", len(out), err)
	}
	return out
}

type object = map[string]any

func check(t *testing.T, schema *jsonschema.Schema, what any, value object, refused bool) {
	t.Helper()
	if err := schema.Validate(value); (err != nil) != refused {
		t.Errorf("%v: %v, want it refused: %t", what, err, refused)
	}
}

// TestDefinitions holds which schemas of definitions the JSON schema refuses. An object of another kind is not its business.
func TestDefinitions(t *testing.T) {
	schema := compile(t, "definition.schema.json")
	for _, c := range cases[struct {
		Name            string
		Schema          any
		Refused, Missed bool
	}](t, "definitions.yaml") {
		definition := object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"spec": object{"versions": []any{object{"name": "v1", "schema": object{"openAPIV3Schema": c.Schema}}}}}
		check(t, schema, c.Name, definition, c.Refused && !c.Missed)
		if c.Missed && !c.Refused {
			t.Errorf("%s: it is missed and not refused", c.Name)
		}
		definition["kind"] = "Other"
		check(t, schema, c.Name, definition, false)
	}
}

// TestRoles holds which verbs of roles the JSON schema refuses.
func TestRoles(t *testing.T) {
	schema := compile(t, "role.schema.json")
	for _, c := range cases[struct {
		Verbs           []any
		Refused, Missed bool
	}](t, "roles.yaml") {
		for _, kind := range []string{"Role", "ClusterRole", "Other"} {
			role := object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
				"rules": []any{object{"verbs": []any{"get"}}, object{"verbs": c.Verbs}}}
			check(t, schema, c.Verbs, role, c.Refused && !c.Missed && kind != "Other")
		}
	}
}

// wrong are the folders and files with objects that are wrong on purpose. Each such file has at least one that the JSON
// schemas refuse.
var wrong = []string{
	"pkg/cli/lint/testdata", "pkg/cli/marker/testdata/stale.txtar",
	"test/integration/testdata/script/crd_extensions.txtar", "test/integration/testdata/script/gate_off_crd.txtar",
}

// yamlBlock matches a block of YAML in a page, and part the beginning of a file in an archive.
var (
	yamlBlock = regexp.MustCompile("(?ms)^```ya?ml[^\n]*\n(.*?)^```")
	part      = regexp.MustCompile(`(?m)^-- .* --$`)
)

// texts returns the YAML in a file, by its extension.
func texts(name string, data []byte) (out []string) {
	switch filepath.Ext(name) {
	case ".yaml", ".yml":
		out = append(out, string(data))
	case ".txtar":
		out = part.Split(string(data), -1)
	case ".md":
		for _, block := range yamlBlock.FindAllStringSubmatch(string(data), -1) {
			out = append(out, block[1])
		}
	}
	return out
}

// objects returns the objects in a text, up to one that is no YAML, such as a template.
func objects(text string) (out []object) {
	for documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var value object
		if documents.Decode(&value) != nil {
			return out
		}
		out = append(out, value)
	}
}

// TestAllOfTheRepository holds that the JSON schemas accept all definitions and roles of this repository: those in
// files, and those in pages.
func TestAllOfTheRepository(t *testing.T) {
	schemas := map[string]*jsonschema.Schema{"CustomResourceDefinition": compile(t, "definition.schema.json")}
	schemas["Role"] = compile(t, "role.schema.json")
	schemas["ClusterRole"] = schemas["Role"]
	found, refused := map[string]int{}, map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name == "upstream" || name == "bin" || name == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil // a link to what is visited elsewhere
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		onPurpose := slices.Index(wrong, name)
		if onPurpose < 0 {
			onPurpose = slices.Index(wrong, filepath.ToSlash(filepath.Dir(name)))
		}
		for _, text := range texts(name, data) {
			for _, value := range objects(text) {
				kind, _ := value["kind"].(string)
				schema := schemas[kind]
				if schema == nil {
					continue
				}
				found[kind]++
				if err := schema.Validate(value); err != nil && onPurpose >= 0 {
					refused[wrong[onPurpose]]++
				} else if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found["CustomResourceDefinition"] < 30 || found["Role"] < 20 || found["ClusterRole"] < 60 {
		t.Errorf("only %v were found", found)
	}
	for _, name := range wrong {
		if refused[name] == 0 {
			t.Errorf("nothing is wrong in %s", name)
		}
	}
}
