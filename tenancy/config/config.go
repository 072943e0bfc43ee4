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

	"kube-granular.dev/api/printing"

	"kube-granular.dev/tenancy/internal/names"
)

//go:embed default/namespace.yaml components/delegation/delegation.yaml crd/tenancy.kube-granular.dev_lnamespaces.yaml crd/tenancy.kube-granular.dev_sudorequests.yaml rbac/controller.yaml rbac/everyone.yaml rbac/requests.yaml policy/lists.yaml policy/creation.yaml policy/billing.yaml policy/namespaces.yaml policy/deletion.yaml policy/sudo.yaml policy/requests.yaml policy/delegations.yaml webhook/webhooks.yaml
var files embed.FS

// Options select the manifests for a cluster, and change some of them.
type Options struct {
	// FieldPermissions gives fields of an LNamespace a permission of their own in the
	// CustomResourceDefinition, for a server that authorizes single fields. The component
	// granular makes the same changes.
	FieldPermissions bool
	// SudoByDelegation adds the manifests of the component delegation, for a server that serves
	// AuthorityDelegations.
	SudoByDelegation bool
	// WebhookURL is the base URL at which the API server calls the webhooks of a controller that
	// runs outside the cluster. If it is empty, the manifests have no webhooks.
	WebhookURL string
	// ViewFor is the group that views all namespaces, and CreateFor the group that creates
	// LNamespaces. Empty means all authenticated users, and Nobody means no group.
	ViewFor, CreateFor string
}

// Everybody is the default group of ViewFor and CreateFor, and Nobody stands for no group.
const (
	Everybody = "system:authenticated"
	Nobody    = "none"
)

// The names of the bindings that ViewFor and CreateFor change.
const (
	ViewBinding   = "lnamespace-view"
	CreateBinding = "lnamespace-create"
)

// group returns the value of ViewFor or CreateFor that an object depends on.
func (o Options) group(object *unstructured.Unstructured) string {
	if object.GetKind() != "ClusterRoleBinding" {
		return ""
	}
	switch object.GetName() {
	case ViewBinding:
		return o.ViewFor
	case CreateBinding:
		return o.CreateFor
	}
	return ""
}

// Unwanted returns the bindings that the options leave out, with only their names.
func (o Options) Unwanted() []*unstructured.Unstructured {
	var unwanted []*unstructured.Unstructured
	for name, group := range map[string]string{ViewBinding: o.ViewFor, CreateBinding: o.CreateFor} {
		if group != Nobody {
			continue
		}
		binding := &unstructured.Unstructured{}
		binding.SetAPIVersion("rbac.authorization.k8s.io/v1")
		binding.SetKind("ClusterRoleBinding")
		binding.SetName(name)
		unwanted = append(unwanted, binding)
	}
	return unwanted
}

// Grants returns a few lines that say which permissions the objects give to whom.
func (o Options) Grants() []string {
	who := func(group string) string {
		switch group {
		case "", Everybody:
			return "all authenticated users, service accounts included"
		case Nobody:
			return "nobody"
		}
		return "the group " + group
	}
	creators := who(o.CreateFor)
	if o.CreateFor != Nobody {
		creators = strings.TrimSuffix(creators, ", service accounts included") + "; a service account only with the role lnamespace-provision"
	}
	return []string{
		"view everything in all namespaces but secrets: " + who(o.ViewFor) + " (--view-for)",
		"create LNamespaces, and so namespaces: " + creators + " (--create-for)",
		"everything, because it creates roles: the service account tenancy-system/tenancy-controller",
	}
}

// extensions are what the schema of the spec gets for a server that authorizes single fields, by the path
// below the spec. Each of these fields has a permission. In the list of sudoers, each element has one too,
// with the kind of the sudoer as its parameter; the permission of the list includes it. Without a
// parameter, the server would compare the list by position, and charge a removal to the whole list.
var extensions = []struct {
	path, name, value string
}{
	{"users", permissionVerb, names.Users},
	{"managers", permissionVerb, names.Managers},
	{"sudoers", permissionVerb, names.Sudoers},
	{"sudoers.items", permissionVerb, names.SudoersRemoval},
	{"sudoers.items", parameterizedBy, "self.kind"},
	{"sudo", permissionVerb, names.Sudo},
	{"billing", permissionVerb, names.Billing},
	{"deletionPolicy", permissionVerb, names.DeletionPolicy},
}

const (
	permissionVerb  = "x-kubernetes-permission-verb"
	parameterizedBy = "x-kubernetes-permission-parameterized-by"
)

// Objects returns the objects that default/kustomization.yaml lists and those that the options
// add, all of them changed as the options say.
func Objects(o Options) ([]*unstructured.Unstructured, error) {
	paths := []string{
		"default/namespace.yaml", "crd/tenancy.kube-granular.dev_lnamespaces.yaml",
		"crd/tenancy.kube-granular.dev_sudorequests.yaml", "rbac/controller.yaml", "rbac/everyone.yaml", "rbac/requests.yaml",
		"policy/lists.yaml", "policy/creation.yaml", "policy/billing.yaml",
		"policy/namespaces.yaml", "policy/deletion.yaml", "policy/sudo.yaml", "policy/requests.yaml", "policy/delegations.yaml",
	}
	if o.SudoByDelegation {
		paths = append(paths, "components/delegation/delegation.yaml")
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
			if o.group(object) == Nobody {
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
	case "ClusterRoleBinding":
		group := o.group(object)
		if group == "" {
			return nil
		}
		return unstructured.SetNestedSlice(object.Object, []any{map[string]any{
			"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}}, "subjects")
	case "CustomResourceDefinition":
		if !o.FieldPermissions || object.GetName() != names.Definition {
			return nil
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			return err
		}
		for _, version := range versions {
			for _, e := range extensions {
				path := strings.Split("schema.openAPIV3Schema.properties.spec.properties."+e.path+"."+e.name, ".")
				if err := unstructured.SetNestedField(version.(map[string]any), e.value, path...); err != nil {
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
		if err := printing.Fprintf(w, "---\n%s", printing.Escaped(text)); err != nil {
			return err
		}
	}
	return nil
}
