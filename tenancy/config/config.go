// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config embeds the manifests of this folder, so that the controller's binary can print
// and apply them without kustomize.
package config

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

//go:embed default/namespace.yaml delegation/delegation.yaml crd/tenancy.kube-granular.dev_lnamespaces.yaml rbac/controller.yaml rbac/everyone.yaml policy/lists.yaml policy/namespaces.yaml policy/sudo.yaml webhook/webhooks.yaml
var files embed.FS

// Options select the manifests for a cluster, and change some of them.
type Options struct {
	// FieldPermissions gives fields of an LNamespace a permission of their own in the
	// CustomResourceDefinition, for a server that authorizes single fields. The kustomization in
	// the folder granular makes the same changes.
	FieldPermissions bool
	// SudoByDelegation adds the manifests of the folder delegation, for a server that serves
	// AuthorityDelegations.
	SudoByDelegation bool
	// WebhookURL is the base URL at which the API server calls the webhooks of a controller that
	// runs outside the cluster. If it is empty, the manifests have no webhooks.
	WebhookURL string
}

// fields are the fields of the spec of an LNamespace that have a permission of their own.
var fields = []string{"users", "managers", "sudoers", "sudo", "billing"}

// Objects returns the objects that default/kustomization.yaml lists and those that the options
// add, all of them changed as the options say.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	paths := []string{
		"default/namespace.yaml", "crd/tenancy.kube-granular.dev_lnamespaces.yaml", "rbac/controller.yaml", "rbac/everyone.yaml", "policy/lists.yaml", "policy/namespaces.yaml", "policy/sudo.yaml",
	}
	if o.SudoByDelegation {
		paths = append(paths, "delegation/delegation.yaml")
	}
	if o.WebhookURL != "" {
		paths = append(paths, "webhook/webhooks.yaml")
	}
	var objects []*unstructured.Unstructured
	for _, path := range paths {
		text, err := files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := decoder.Decode(&object.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if len(object.Object) == 0 {
				continue
			}
			if err := o.change(object); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// change applies the options to an object.
func (o Options) change(object *unstructured.Unstructured) error {
	switch object.GetKind() {
	case "CustomResourceDefinition":
		if !o.FieldPermissions {
			return nil
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			return err
		}
		for _, version := range versions {
			for _, field := range fields {
				if err := unstructured.SetNestedField(version.(map[string]any), "tenancy.kube-granular.dev/"+field,
					"schema", "openAPIV3Schema", "properties", "spec", "properties", field, "x-kubernetes-permission-verb"); err != nil {
					return err
				}
			}
		}
		return unstructured.SetNestedSlice(object.Object, versions, "spec", "versions")
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		hooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, hook := range hooks {
			path, _, err := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			hook.(map[string]any)["clientConfig"] = map[string]any{"url": strings.TrimSuffix(o.WebhookURL, "/") + path}
		}
		return unstructured.SetNestedSlice(object.Object, hooks, "webhooks")
	}
	return nil
}

// Write writes the objects as YAML.
func Write(w io.Writer, o Options) error {
	objects, err := Objects(o)
	if err != nil {
		return err
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte("---\n"), text...)); err != nil {
			return err
		}
	}
	return nil
}
