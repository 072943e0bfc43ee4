// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	folder    = "../../../tenancy/charts/tenancy"
	manifests = "../../../tenancy/config"
	namespace = "tenancy-system"
)

// values are those of a chart.
type values = map[string]any

// render returns what `helm template` writes.
func render(t *testing.T, namespace string, v values) (string, error) {
	t.Helper()
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(&action.Configuration{})
	install.ReleaseName, install.Namespace = "tenancy", namespace
	install.DryRun, install.ClientOnly, install.Replace = true, true, true
	install.KubeVersion = &chartutil.KubeVersion{Version: "v1.37.1+granular.0.1.0", Major: "1", Minor: "37"}
	release, err := install.Run(chart, v)
	if err != nil {
		return "", err
	}
	return release.Manifest, nil
}

// objects reads a stream of YAML.
func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(text)), 4096)
	var list []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			list = append(list, object)
		}
	}
}

// canonical returns objects as sorted lines, with equal spaces: kustomize breaks lines at other places.
func canonical(t *testing.T, list []*unstructured.Unstructured, change func(*unstructured.Unstructured) bool) []string {
	t.Helper()
	var lines []string
	for _, object := range list {
		if !change(object) {
			continue
		}
		text, err := json.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Join(strings.Fields(strings.ReplaceAll(string(text), `\n`, " ")), " "))
	}
	slices.Sort(lines)
	return lines
}

// container returns the first container of a Deployment.
func container(object *unstructured.Unstructured) map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	return list[0].(map[string]any)
}

// TestChart compares what Helm renders with what kustomize builds, and checks that Helm keeps the definitions and what guards
// the lists of tenants, and nothing else.
//
// Attack: after helm uninstall, a manager of a tenant makes itself sudoer, and has sudo when somebody installs the chart again
// Was: got through
// Answer: the policies and their bindings stay with the definitions, and refuse it
func TestChart(t *testing.T) {
	for name, v := range map[string]values{
		"manager":            {},
		"manager-granular":   {"fieldPermissions": true},
		"manager-delegation": {"fieldPermissions": true, "sudo": "Delegation"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := render(t, namespace, v)
			if err != nil {
				t.Fatal(err)
			}
			kept, guards := map[string]int{}, map[string]int{}
			rendered := canonical(t, objects(t, text), func(object *unstructured.Unstructured) bool {
				kind, annotations := object.GetKind(), object.GetAnnotations()
				if annotations["helm.sh/resource-policy"] == "keep" {
					kept[kind]++
					if delete(annotations, "helm.sh/resource-policy"); len(annotations) == 0 {
						annotations = nil
					}
					object.SetAnnotations(annotations)
				}
				if kind == "CustomResourceDefinition" || strings.Contains(kind, "AdmissionPolicy") {
					guards[kind]++
				}
				switch kind {
				case "Deployment":
					if image := container(object)["image"]; image != "tenancy-controller:v0.1.0" {
						t.Errorf("the image is %s", image)
					}
				}
				return true
			})
			if !maps.Equal(kept, guards) || len(guards) != 5 {
				t.Errorf("Helm would keep %v, want %v", kept, guards)
			}
			built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(manifests, name))
			if err != nil {
				t.Fatal(err)
			}
			stream, err := built.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			want := canonical(t, objects(t, string(stream)), func(object *unstructured.Unstructured) bool {
				if object.GetKind() == "Deployment" {
					containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
					containers[0].(map[string]any)["image"] = "tenancy-controller:v0.1.0"
					_ = unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
				}
				return object.GetKind() != "Namespace"
			})
			if len(rendered) != len(want) {
				t.Errorf("Helm renders %d objects, kustomize builds %d", len(rendered), len(want))
			}
			for i := range min(len(rendered), len(want)) {
				if rendered[i] != want[i] {
					t.Fatalf("Helm:\n%s\nkustomize:\n%s", rendered[i], want[i])
				}
			}
		})
	}
}

// TestValues checks what single values change, and which values are refused.
func TestValues(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		values    values
		has       []string
		hasNot    []string
		err       string
	}{
		"nobody views": {values: values{"viewFor": "none"}, hasNot: []string{"name: lnamespace-view\n"},
			has: []string{"name: lnamespace-create\n"}},
		"a group creates": {values: values{"createFor": "staff"}, has: []string{"name: staff\n"}},
		"an image and flags": {
			values: values{"image": values{"repository": "example.com/tenants", "tag": "v1"}, "args": []any{"--user-role=admin"}, "replicas": 3},
			has:    []string{"image: example.com/tenants:v1\n", "- --user-role=admin\n", "replicas: 3\n"},
		},
		"an image by its digest": {
			values: values{"image": values{"repository": "example.com/tenants", "tag": "v1", "digest": "sha256:" + strings.Repeat("a", 64)}},
			has:    []string{"image: example.com/tenants:v1@sha256:" + strings.Repeat("a", 64) + "\n"},
		},
		"no digest": {values: values{"image": values{"repository": "example.com/tenants", "digest": "v1"}}, err: "digest"},
		"variables and volumes": {
			values: values{
				"env":              []any{values{"name": "PGPASSWORD", "valueFrom": values{"secretKeyRef": values{"name": "bills", "key": "password"}}}},
				"volumes":          []any{values{"name": "accounts", "configMap": values{"name": "accounts"}}},
				"volumeMounts":     []any{values{"name": "accounts", "mountPath": "/accounts"}},
				"imagePullSecrets": []any{values{"name": "registry"}},
			},
			has: []string{"name: PGPASSWORD\n", "key: password\n", "volumes:\n", "mountPath: /accounts\n", "imagePullSecrets:\n"},
		},
		"another namespace":              {namespace: "default", err: "--namespace tenancy-system"},
		"delegation without permissions": {values: values{"sudo": "Delegation"}, err: "fieldPermissions"},
		"another sudo":                   {values: values{"sudo": "delegation"}, err: "sudo"},
		"a value that is misspelled":     {values: values{"fieldPermission": true}, err: "fieldPermission"},
		"no replicas":                    {values: values{"replicas": 0}, err: "replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			where := tc.namespace
			if where == "" {
				where = namespace
			}
			text, err := render(t, where, tc.values)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("want an error with %q, got %v", tc.err, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.has {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
			for _, not := range tc.hasNot {
				if strings.Contains(text, not) {
					t.Errorf("has %q", not)
				}
			}
		})
	}
}

// TestLint runs `helm lint --strict`.
func TestLint(t *testing.T) {
	lint := action.NewLint()
	lint.Strict, lint.Namespace = true, namespace
	result := lint.Run([]string{folder}, values{})
	for _, err := range result.Errors {
		t.Error(err)
	}
	for _, message := range result.Messages {
		if message.Severity > support.InfoSev {
			t.Error(message)
		}
	}
}
