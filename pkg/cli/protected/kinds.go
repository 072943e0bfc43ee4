// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// kind is a resource that can be listed, with the walker that finds the labels and annotations of
// its objects.
type kind struct {
	resource   kubeschema.GroupVersionResource
	namespaced bool
	target     *protect.Target
	walker     *change.Walker
}

func (k *kind) String() string { return k.resource.GroupResource().String() }

// listable is a resource that can be listed, from discovery.
type listable struct {
	resource   kubeschema.GroupVersionResource
	kind       string
	namespaced bool
}

// resources returns the resources that can be listed, in the preferred version of the server,
// sorted by name. names, such as pods or deployments.apps, select some of them; without names all
// are selected. If discovery fails for some API groups, resources returns the resources of the
// other groups together with an error.
func resources(client discovery.DiscoveryInterface, names []string) ([]listable, error) {
	lists, err := discovery.ServerPreferredResources(client)
	found := map[string]bool{}
	var out []listable
	for _, list := range lists {
		version, parseErr := kubeschema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			return nil, parseErr
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") {
				continue
			}
			gvr := version.WithResource(r.Name)
			if len(names) > 0 && !matchesName(names, found, r, gvr.GroupResource()) {
				continue
			}
			out = append(out, listable{gvr, r.Kind, r.Namespaced})
		}
	}
	slices.SortFunc(out, func(a, b listable) int {
		return strings.Compare(a.resource.GroupResource().String(), b.resource.GroupResource().String())
	})
	for _, name := range names {
		if !found[name] {
			err = errors.Join(err, fmt.Errorf("the server has no resource %q that can be listed", name))
		}
	}
	return out, err
}

func matchesName(names []string, found map[string]bool, r metav1.APIResource, resource kubeschema.GroupResource) bool {
	for _, name := range names {
		if name == r.Name || name == resource.String() || name == r.SingularName || slices.Contains(r.ShortNames, name) {
			found[name] = true
			return true
		}
	}
	return false
}

// trees compiles the permission tree of a kind, which contains the places of labels and annotations
// in its objects. It keeps the schemas of only one group and version in memory at a time.
type trees struct {
	root    openapi3.Root
	version kubeschema.GroupVersion
	models  *schema.Models
}

// kindOf returns the kind for a resource. It reads and compiles the schema.
func (t *trees) kindOf(ctx context.Context, l listable) (*kind, error) {
	version := l.resource.GroupVersion()
	if t.models == nil || t.version != version {
		doc, err := t.root.GVSpec(version)
		if err != nil {
			return nil, fmt.Errorf("read the schemas of %s: %w", version, err)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if doc.Components == nil {
			return nil, fmt.Errorf("the server publishes no schemas for %s", version)
		}
		t.version, t.models = version, schema.NewModels(doc.Components.Schemas, schema.WithExpressions(kinds.ServerComputed{}))
	}
	tree, err := t.models.ByKind(version.WithKind(l.kind))
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", l.resource.GroupResource(), err)
	}
	group := protect.Resource{Group: l.resource.Group, Resource: l.resource.Resource}
	k := &kind{resource: l.resource, namespaced: l.namespaced, target: protect.Builtin().Target(group, tree), walker: change.NewWalker(tree)}
	if group == (protect.Resource{Group: "apps", Resource: "controllerrevisions"}) {
		k.target = k.target.WithEmbedded()
	}
	return k, nil
}
