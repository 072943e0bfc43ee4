// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestBothVersionsOfOpenAPI checks that /openapi/v2 publishes the same permissions for every
// kind as /openapi/v3, which the other tests use.
func TestBothVersionsOfOpenAPI(t *testing.T) {
	client := harness.Administrator(t, server)
	data, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Definitions map[string]*spec.Schema `json:"definitions"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	models := schema.NewModels(document.Definitions)
	for _, k := range kinds {
		tree, err := models.ByKind(k.GroupVersionKind)
		if err != nil {
			t.Errorf("%s: %v", k.ID(), err)
			continue
		}
		if got, want := tree.String(), k.Tree.String(); got != want {
			t.Errorf("%s: /openapi/v2 gives another tree:\n%s\n/openapi/v3:\n%s", k.ID(), got, want)
		}
	}
}

// TestExplain checks that kubectl explain still reads the published schema, and shows no
// permission markers in the descriptions of fields.
func TestExplain(t *testing.T) {
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{
		"deployment.metadata.labels":              "map[string]string",
		"deployment.metadata.finalizers":          "[]string",
		"deployment.spec.replicas":                "<integer>",
		"deployment.spec.template.spec.nodeName":  "<string>",
		"pod.spec.schedulingGates":                "[]PodSchedulingGate",
		"node.spec.taints":                        "[]Taint",
		"configmap.data":                          "map[string]string",
		"deployment.status.conditions":            "[]DeploymentCondition",
		"customresourcedefinition.spec.group":     "<string>",
		"poddisruptionbudget.status.conditions":   "[]Condition",
		"resourceclaimtemplate.spec.spec.devices": "DeviceClaim",
	}
	for field, want := range tests {
		out, err := exec.Command(filepath.Join(bin, "kubectl"), "--kubeconfig", server.Kubeconfig("admin"), "explain", field).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl explain %s: %v\n%s", field, err, out)
			continue
		}
		if text := string(out); !strings.Contains(text, want) || strings.Contains(text, "+permission") || strings.Contains(text, "x-kubernetes") {
			t.Errorf("kubectl explain %s shows no %q, or a marker:\n%s", field, want, text)
		}
	}
}
