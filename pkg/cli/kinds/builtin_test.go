// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

var update = flag.Bool("update", false, "write builtin.json from the definitions of the server")

// TestBuiltin checks that builtin.json has the permissions of the server, and that they make the trees of the server from
// definitions without permissions.
func TestBuiltin(t *testing.T) {
	all := modelstest.BuiltIn()
	wanted := marks{}
	for name, model := range all {
		found := map[string]map[string]any{}
		collect(model, "", found)
		if len(found) > 0 {
			wanted[name] = found
		}
	}
	text, err := json.MarshalIndent(wanted, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile("builtin.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		builtinText = text
	}
	if !bytes.Equal(text, builtinText) {
		t.Fatal("builtin.json is not that of the server: run this test with -update")
	}
	stock := map[string]*spec.Schema{}
	for name, model := range all {
		data, err := json.Marshal(model)
		if err != nil {
			t.Fatal(err)
		}
		var plain spec.Schema
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatal(err)
		}
		found := map[string]map[string]any{}
		collect(&plain, "", found)
		for path := range found {
			without(&plain, path)
		}
		stock[name] = &plain
	}
	marked, err := withBuiltin(stock)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name := range all {
		if !strings.HasPrefix(name, "io.k8s.api.") {
			continue
		}
		want, err := schema.NewModels(all).Compile(name)
		if err != nil {
			continue // the server has no tree of it either
		}
		got, err := schema.NewModels(marked).Compile(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: another tree:\n%s\nwanted:\n%s", name, got, want)
		}
		compared++
	}
	if compared < 300 {
		t.Errorf("only %d trees were compared", compared)
	}
}

// TestWithDefinition checks which permissions a custom resource has by a definition in a file.
func TestWithDefinition(t *testing.T) {
	const text = `{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"},"size":{"type":"integer"}}}}}`
	read := func(text string) *spec.Schema {
		var out spec.Schema
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return &out
	}
	declared := strings.Replace(text, `"size":{`, `"size":{"x-kubernetes-permission-verb":"example.com/size","x-kubernetes-permission-excluded":true,`, 1)
	for name, tc := range map[string]struct {
		text     string
		replicas string
		silent   bool
		want     string
	}{
		"nothing declared":                     {text, "", true, "specification"},
		"a scale":                              {text, ".spec.replicas", true, "specification replicas"},
		"a permission":                         {declared, ".spec.replicas", false, "example.com/size"},
		"a permission in another version":      {text, ".spec.replicas", false, ""},
		"a scale of a field that is not there": {text, ".spec.other", true, "specification"},
	} {
		published := read(text)
		published.Extensions = spec.Extensions{"x-kubernetes-group-version-kind": []any{}}
		all, err := withBuiltin(map[string]*spec.Schema{"Box": published})
		if err != nil {
			t.Fatal(err)
		}
		tree, err := schema.NewModels(all).Compile("Box")
		if err != nil {
			t.Fatal(err)
		}
		k := &Kind{Tree: tree, definitions: all}
		if err := k.WithDefinition(read(tc.text), tc.replicas, tc.silent); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range k.Tree.Permissions() {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != tc.want {
			t.Errorf("%s: %q, wanted %q", name, got, tc.want)
		}
	}
}
