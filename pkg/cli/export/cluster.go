// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/kinds"
)

// ClusterKinds finds targets in a cluster.
type ClusterKinds struct {
	Cluster *kinds.Cluster
	// Definitions declare permissions of custom resources.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	// Entries are those of FieldPermissions, by resource.
	Entries map[kubeschema.GroupResource]*overlay.Entries
}

// Target implements Kinds.
func (c ClusterKinds) Target(group, resource, subresource string) (*Target, error) {
	name := kubeschema.GroupResource{Group: group, Resource: resource}
	return c.target(overlay.InForce(name, c.Entries[name], c.Entries[overlay.Pods]), group, resource, subresource)
}

// TargetWith implements Kinds.
func (c ClusterKinds) TargetWith(entries *overlay.Entries, group, resource string) (*Target, error) {
	return c.target(entries, group, resource, "")
}

func (c ClusterKinds) target(entries *overlay.Entries, group, resource, subresource string) (*Target, error) {
	k, err := c.Cluster.Exactly(kubeschema.GroupResource{Group: group, Resource: resource})
	if err != nil || k == nil {
		return nil, err
	}
	// Another server may call its kinds like built-in ones.
	server, err := c.Cluster.ServedBy(k.Resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	if server != "" {
		return nil, fmt.Errorf("%s is served by another server, the service %s, and it is not known whether that asks the admission policies "+
			"of the cluster, so update and patch could be open", k, server)
	}
	custom, err := k.Custom()
	if err != nil {
		return nil, err
	}
	if custom {
		if err := c.declare(k); err != nil {
			return nil, err
		}
	}
	var idle []string
	if entries != nil {
		var outcomes []overlay.Outcome
		if k.Tree, _, outcomes, err = kinds.Overlay(k, entries, false); err != nil {
			return nil, err
		}
		for i := range outcomes {
			if o := &outcomes[i]; entries.Fields[i].Excluded && o.State == overlay.Idle && o.Reason != overlay.ExcludedByAuthor {
				idle = append(idle, fmt.Sprintf("%s (%s)", o.Path, o.Reason))
			}
		}
	}
	_, status := k.Subresource("status")
	_, scale := k.Subresource("scale")
	out := &Target{Resource: k.Resource, Subresource: subresource, Tree: k.Tree, Namespaced: k.Namespaced || group == "" && resource == "namespaces",
		Custom: custom, HasStatus: status, HasScale: scale, ScalePath: c.scalePath(k), Idle: idle}
	if !custom && scale {
		out.ScalePath = ".spec.replicas"
	}
	for _, name := range []string{"resize", "ephemeralcontainers", "approval", "finalize"} {
		if sub, ok := k.Subresource(name); ok && sub.Kind == k.Kind {
			out.Stores = append(out.Stores, name)
		}
	}
	if subresource == "" {
		return out, nil
	}
	sub, ok := k.Subresource(subresource)
	if !ok {
		return nil, nil
	}
	if sub.Kind != k.Kind {
		if out.Tree, err = c.Cluster.TreeOf(k, subresource); err != nil {
			return nil, err
		}
		out.Custom = false
	}
	return out, nil
}

// scalePath returns the field that the subresource scale of a custom resource writes, if a definition in the files says so.
func (c ClusterKinds) scalePath(k *kinds.Kind) string {
	for _, d := range c.Definitions {
		for _, v := range d.Spec.Versions {
			if d.Spec.Group == k.Resource.Group && d.Spec.Names.Plural == k.Resource.Resource && v.Name == k.Resource.Version &&
				v.Subresources != nil && v.Subresources.Scale != nil {
				return v.Subresources.Scale.SpecReplicasPath
			}
		}
	}
	return ""
}

// declare gives a custom resource the permissions of a definition in the files.
func (c ClusterKinds) declare(k *kinds.Kind) error {
	for _, d := range c.Definitions {
		if d.Spec.Group != k.Resource.Group || d.Spec.Names.Plural != k.Resource.Resource {
			continue
		}
		var root *spec.Schema
		silent := true
		for _, v := range d.Spec.Versions {
			if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
				continue
			}
			text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return err
			}
			silent = silent && !bytes.Contains(text, []byte(`"`+permissionExtension))
			if v.Name == k.Resource.Version {
				root = &spec.Schema{}
				if err := json.Unmarshal(text, root); err != nil {
					return err
				}
			}
		}
		if root == nil {
			return fmt.Errorf("the definition of %s in the files has no schema of version %s", k, k.Resource.Version)
		}
		return k.WithDefinition(root, c.scalePath(k), silent)
	}
	return nil
}

// permissionExtension is how the extensions of a schema begin that declare permissions.
const permissionExtension = "x-kubernetes-permission-"
