// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/pkg/cli/kinds"
)

// ClusterKinds finds targets in a cluster.
type ClusterKinds struct {
	Cluster *kinds.Cluster
	// Definitions declare permissions of custom resources.
	Definitions []*apiextensionsv1.CustomResourceDefinition
}

// Target implements Kinds.
func (c ClusterKinds) Target(group, resource, subresource string) (*Target, error) {
	k, err := c.Cluster.Exactly(kubeschema.GroupResource{Group: group, Resource: resource})
	if err != nil || k == nil {
		return nil, err
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
	_, status := k.Subresource("status")
	out := &Target{Resource: k.Resource, Subresource: subresource, Tree: k.Tree, Namespaced: k.Namespaced || group == "" && resource == "namespaces",
		Custom: custom, HasStatus: status}
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

// declare gives a custom resource the permissions of a definition in the files.
func (c ClusterKinds) declare(k *kinds.Kind) error {
	for _, d := range c.Definitions {
		if d.Spec.Group != k.Resource.Group || d.Spec.Names.Plural != k.Resource.Resource {
			continue
		}
		for _, v := range d.Spec.Versions {
			if v.Name != k.Resource.Version || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
				continue
			}
			text, err := json.Marshal(v.Schema.OpenAPIV3Schema)
			if err != nil {
				return err
			}
			var root spec.Schema
			if err := json.Unmarshal(text, &root); err != nil {
				return err
			}
			return k.WithDefinition(&root)
		}
		return fmt.Errorf("the definition of %s in the files has no schema of version %s", k, k.Resource.Version)
	}
	return nil
}
