// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/tenancy/config"
)

// TestManifests checks that config.Objects returns the same objects as kustomize for each folder,
// and that a server accepts the manifests of config/manager: the controller and its webhooks.
func TestManifests(t *testing.T) {
	texts := func(objects []*unstructured.Unstructured) []string {
		var list []string
		for _, o := range objects {
			text, err := yaml.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, strings.Join(strings.Fields(string(text)), " ")) // kustomize breaks lines at other places
		}
		slices.Sort(list)
		return list
	}
	for folder, o := range map[string]config.Options{"default": {}, "granular": {FieldPermissions: true}, "delegation": {FieldPermissions: true,
		SudoByDelegation: true}} {
		out, err := shared.kubectl("admin", "kustomize", filepath.Join(shared.root, "tenancy", "config", folder))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var built []*unstructured.Unstructured
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(out)), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := decoder.Decode(&object.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			built = append(built, object)
		}
		own, err := config.Objects(o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := texts(built), texts(own); !slices.Equal(a, b) {
			t.Errorf("%s: kustomize makes %d objects, the program %d", folder, len(a), len(b))
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Errorf("kustomize:\n%s\nthe program:\n%s", a[i], b[i])
				}
			}
		}
	}
	// The command manifests prints the same objects that the command install applies.
	out, err := shared.command("admin", nil, "tenancy-controller", "manifests", "--webhook-url", "https://127.0.0.1:1")
	if err != nil || strings.Count(out, "url: https://127.0.0.1:1/") != 3 || strings.Contains(out, "service:") {
		t.Errorf("manifests: %v: %s", err, out)
	}
	out, err = shared.kubectl("admin", "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-k", filepath.Join(shared.root, "tenancy", "config", "manager"))
	if err != nil || !strings.Contains(out, "deployment.apps/tenancy-controller") || !strings.Contains(out, "service/tenancy-webhook") || !strings.Contains(out, "mutatingwebhookconfiguration.admissionregistration.k8s.io/lnamespace") {
		t.Errorf("config/manager: %v: %s", err, out)
	}
}
