// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"sigs.k8s.io/yaml"
)

// TestCasesOfEditors holds that the validation refuses exactly those schemas of test/gitops/schemas that are
// marked as refused. The test there holds the same of the JSON schema for editors.
func TestCasesOfEditors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "test", "gitops", "schemas", "testdata", "definitions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string `json:"name"`
		Schema  any    `json:"schema"`
		Refused bool   `json:"refused"`
		Missed  bool   `json:"missed"` // by the JSON schema
	}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, c := range cases {
		text, err := yaml.Marshal(c.Schema)
		if err != nil {
			t.Fatal(err)
		}
		// kubectl sends definitions with strict validation, so a field that the server does not know is refused.
		err = yaml.UnmarshalStrict(text, &apiextensionsv1.JSONSchemaProps{})
		if err == nil {
			err = refusal(definition(t, nil, string(text)))
		}
		if (err != nil) != c.Refused {
			t.Errorf("%s: %v, want it refused: %t", c.Name, err, c.Refused)
		}
		if c.Refused {
			refused++
		}
	}
	if refused < 30 || len(cases)-refused < 20 {
		t.Errorf("only %d of %d cases are refused", refused, len(cases))
	}
}

// refusal returns why the server refuses a new definition of one version, as far as permissions decide it: because
// of this package, or because an extension stands where a structural schema can't have it.
func refusal(crd *apiextensions.CustomResourceDefinition) error {
	if err := validator().Validate(crd, nil).ToAggregate(); err != nil {
		return err
	}
	version := versionsOf(crd)[0]
	s, err := structural.NewStructural(version.full)
	if err != nil {
		return err
	}
	return structural.ValidateStructural(version.path, s).ToAggregate()
}
