// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package config holds the manifests of this folder, so that the controller's binary can
// print them where kustomize is not at hand.
package config

import (
	"embed"
	"io"
)

//go:embed default/namespace.yaml crd/tenancy.kube-granular.dev_lnamespaces.yaml rbac/controller.yaml rbac/everyone.yaml policy/lists.yaml policy/sudo.yaml
var files embed.FS

// Write writes what default/kustomization.yaml consists of.
func Write(w io.Writer) error {
	for _, name := range []string{
		"default/namespace.yaml", "crd/tenancy.kube-granular.dev_lnamespaces.yaml", "rbac/controller.yaml", "rbac/everyone.yaml", "policy/lists.yaml", "policy/sudo.yaml",
	} {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte("---\n"), text...)); err != nil {
			return err
		}
	}
	return nil
}
