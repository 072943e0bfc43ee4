// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// Flags are flags of `kube-granular up` that enable all kinds in all versions.
var Flags = []string{
	"--demo=false",
	"--feature-gates", "AllAlpha=true,AllBeta=true",
	"--", "--runtime-config=api/all=true",
}

// Kind is one kind in one version.
type Kind struct {
	gvk.GroupVersionKind
	// Resources are the resources and subresources that accept objects of the kind, sorted and
	// formatted as deployments.apps, deployments.apps/scale.
	Resources []string
	// Tree is the permission tree, compiled from the published schema.
	Tree *schema.Tree
	// Model is the published schema.
	Model *spec.Schema
}

// ID returns the kind in the format of the registry: apps/v1 Deployment, v1 Pod.
func (k Kind) ID() string { return k.GroupVersion().String() + " " + k.Kind }

// Fields returns the names of the top-level fields of the kind, except apiVersion and kind, sorted.
func (k Kind) Fields() []string {
	var out []string
	for name := range k.Model.Properties {
		if name != "apiVersion" && name != "kind" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Read returns all kinds that can be written, from the documents below /openapi/v3 of a server. The
// kinds are sorted by group, kind and version.
func Read(ctx context.Context, config *rest.Config) ([]Kind, error) {
	client, err := rest.UnversionedRESTClientFor(unversioned(config))
	if err != nil {
		return nil, err
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	data, err := client.Get().AbsPath("/openapi/v3").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("/openapi/v3: %w", err)
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("/openapi/v3: %w", err)
	}
	all := map[gvk.GroupVersionKind]*Kind{}
	for path, entry := range index.Paths {
		if path != "api/v1" && (!strings.HasPrefix(path, "apis/") || strings.Count(path, "/") != 2) {
			continue
		}
		data, err := client.Get().RequestURI(entry.ServerRelativeURL).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.ServerRelativeURL, err)
		}
		document := &spec3.OpenAPI{}
		if err := json.Unmarshal(data, document); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.ServerRelativeURL, err)
		}
		if err := add(all, "/"+path, document); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	out := make([]Kind, 0, len(all))
	for _, k := range all {
		slices.Sort(k.Resources)
		k.Resources = slices.Compact(k.Resources)
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	return out, nil
}

// unversioned returns a configuration for a client that requests plain paths.
func unversioned(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.GroupVersion = &gvk.GroupVersion{}
	c.NegotiatedSerializer = scheme.Codecs
	return c
}

// writes are the values of x-kubernetes-action of operations whose body is an object. The bodies
// of connections and deletions are not objects but options, such as DeleteOptions.
var writes = map[string]bool{"post": true, "put": true, "patch": true}

func add(all map[gvk.GroupVersionKind]*Kind, prefix string, document *spec3.OpenAPI) error {
	if document.Paths == nil || document.Components == nil {
		return nil
	}
	models := schema.NewModels(document.Components.Schemas)
	for path, item := range document.Paths.Paths {
		for _, op := range []*spec3.Operation{item.Post, item.Put, item.Patch} {
			if op == nil {
				continue
			}
			if action, _ := op.Extensions.GetString("x-kubernetes-action"); !writes[action] {
				continue
			}
			kind, err := kindOf(op)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if all[kind] == nil {
				tree, err := models.ByKind(kind)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				all[kind] = &Kind{GroupVersionKind: kind, Tree: tree, Model: document.Components.Schemas[tree.Name]}
			}
			all[kind].Resources = append(all[kind].Resources, resource(prefix, path))
		}
	}
	return nil
}

func kindOf(op *spec3.Operation) (gvk.GroupVersionKind, error) {
	var out gvk.GroupVersionKind
	fields, ok := op.Extensions["x-kubernetes-group-version-kind"].(map[string]any)
	if !ok {
		return out, fmt.Errorf("an operation has no kind")
	}
	out.Group, _ = fields["group"].(string)
	out.Version, _ = fields["version"].(string)
	out.Kind, _ = fields["kind"].(string)
	return out, nil
}

// resource returns the resource that an OpenAPI path is about:
// /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale is about deployments.apps/scale.
func resource(prefix, path string) string {
	rest := strings.Split(strings.Trim(strings.TrimPrefix(path, prefix), "/"), "/")
	if len(rest) > 2 && rest[0] == "namespaces" && rest[1] == "{namespace}" {
		rest = rest[2:]
	}
	name := rest[0]
	if group := strings.Split(strings.Trim(prefix, "/"), "/"); group[0] == "apis" {
		name += "." + group[1]
	}
	if len(rest) > 2 {
		name += "/" + strings.Join(rest[2:], "/")
	}
	return name
}
