// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// generated returns the definitions of Kubernetes, with the permissions that markers put there.
func generated() map[string]common.OpenAPIDefinition {
	return openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/definitions/" + path) })
}

func text(t *testing.T, definitions map[string]common.OpenAPIDefinition) string {
	t.Helper()
	data, err := json.Marshal(definitions)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestWithoutPermissions checks on all definitions of Kubernetes that nothing but the permissions goes,
// and that the given definitions stay as they are.
func TestWithoutPermissions(t *testing.T) {
	given := generated()
	before := text(t, given)
	want, removed := plain(t, before)
	if removed == 0 {
		t.Fatal("the generated definitions have no permissions")
	}
	if diff := cmp.Diff(want, decode(t, text(t, WithoutPermissions(given)))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if after := text(t, given); after != before {
		t.Error("the given definitions were changed")
	}
}

func decode(t *testing.T, data string) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// plain decodes JSON, and removes and counts the permissions by itself: it shares no code with the package.
func plain(t *testing.T, data string) (any, int) {
	t.Helper()
	out := decode(t, data)
	return out, remove(out)
}

// remove leaves properties alone, because the schema of schemas has properties with these names.
func remove(value any) int {
	removed := 0
	switch value := value.(type) {
	case map[string]any:
		for key, child := range value {
			if _, property := child.(map[string]any); strings.HasPrefix(key, "x-kubernetes-permission-") && !property {
				delete(value, key)
				removed++
				continue
			}
			removed += remove(child)
		}
	case []any:
		for _, child := range value {
			removed += remove(child)
		}
	}
	return removed
}

// TestNothingCopied checks that a schema without permissions is not copied.
func TestNothingCopied(t *testing.T) {
	property := spec.StringProperty()
	definition := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{Items: &spec.SchemaOrArray{Schema: property}}}}
	out := WithoutPermissions(map[string]common.OpenAPIDefinition{"a": definition})
	if out["a"].Schema.Items.Schema != property {
		t.Error("a schema without permissions was copied")
	}
}
