// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"testing"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

func TestCovered(t *testing.T) {
	for name, tc := range map[string]struct {
		pattern   string
		of        *schema.Parameter
		parameter string
		want      string
	}{
		"no parameter":  {".spec.replicas", nil, "", ".spec.replicas"},
		"a prefix":      {".metadata.labels[*]", &schema.Parameter{Source: "label-key", Treatment: permission.SlashDelimitedPrefix}, "a.example", ".metadata.labels[a.example] and [a.example/*]"},
		"one key":       {".metadata.labels[*]", &schema.Parameter{Source: "label-key", Treatment: permission.SlashDelimitedPrefix}, "a.example/b", ".metadata.labels[a.example/b]"},
		"one plain key": {".metadata.labels[*]", &schema.Parameter{Source: "label-key", Treatment: permission.SlashDelimitedPrefix}, "/b", ".metadata.labels[b]"},
		"one container": {".spec.containers[*]", &schema.Parameter{Source: "container-name"}, "app", ".spec.containers[app]"},
		"its image":     {".spec.containers[*].image", &schema.Parameter{Source: "container-name"}, "app", ".spec.containers[app].image"},
		"a key":         {".status.conditions[*]", &schema.Parameter{Source: "condition-type"}, "Fit", ".status.conditions[Fit]"},
		"a value":       {".spec.taints[*]", &schema.Parameter{Source: "self.key", FromValue: true, Field: "key"}, "a", `.spec.taints[key="a"]`},
		"an image": {".spec.containers[*].image", &schema.Parameter{Source: "self", FromValue: true, Treatment: permission.ImageRepositoryPrefix}, "registry.example",
			".spec.containers[*].image, if the registry and repository prefix is registry.example"},
	} {
		if got := Covered(schema.Info{Permission: &schema.Permission{Parameter: tc.of}, Pattern: tc.pattern}, tc.parameter); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
