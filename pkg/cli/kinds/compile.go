// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"fmt"
	"strings"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// compile sets the permission tree of a kind.
func (c *Cluster) compile(k *Kind) error {
	tree, doc, err := c.publishedTree(k.Resource.GroupVersion(), k.Kind)
	if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	k.Tree, k.definitions = tree, doc.definitions
	if err := c.addEntries(k); err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	for i := range k.Subresources {
		if sub := &k.Subresources[i]; sub.Kind != k.Kind {
			sub.Tree, _, _ = c.tree(k.Resource.GroupVersion(), sub.Kind)
		}
	}
	return nil
}

// Part is a resource or a subresource through which fields of a kind can be changed.
type Part struct {
	// Subresource is "" for the resource itself.
	Subresource string
	Tree        *schema.Tree
}

// Parts returns the resource itself, and the subresources that can be updated or patched.
func (k *Kind) Parts() []Part {
	out := []Part{{"", k.Tree}}
	for _, s := range k.Subresources {
		switch {
		case s.Kind == k.Kind:
			out = append(out, Part{s.Name, k.Tree})
		case s.Tree != nil:
			out = append(out, Part{s.Name, s.Tree})
		}
	}
	return out
}

// Has reports whether the field at a place is changed through the part: only status through the
// subresource status, and only spec through a subresource of another kind, such as scale. If there
// is a subresource status, the resource itself does not change the status.
func (p Part) Has(k *Kind, place schema.NodePath) bool {
	field := ""
	if len(place) > 1 {
		field = place[1].Field
	}
	switch {
	case p.Tree != k.Tree:
		return field == "spec"
	case p.Subresource == "status":
		return field != "spec"
	case p.Subresource == "":
		_, status := k.Subresource("status")
		return field != "status" || !status
	}
	return true
}

// TreeOf returns the permission tree for the objects of a subresource, or of the kind itself if
// subresource is "".
func (c *Cluster) TreeOf(k *Kind, subresource string) (*schema.Tree, error) {
	if subresource == "" {
		return k.Tree, nil
	}
	s, ok := k.Subresource(subresource)
	if !ok {
		return nil, fmt.Errorf("%s has no subresource %q that can be updated or patched", k, subresource)
	}
	if s.Kind == k.Kind {
		return k.Tree, nil
	}
	tree, _, err := c.tree(k.Resource.GroupVersion(), s.Kind)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", k, subresource, err)
	}
	return tree, nil
}

// Tree returns the permission tree of a resource, or of a subresource if subresource is not "". It
// returns nil if the subresource can't be updated or patched, as for pods/eviction.
func (c *Cluster) Tree(resource kubeschema.GroupVersionResource, subresource string) (*schema.Tree, error) {
	k, err := c.ForResource(resource)
	if err != nil {
		return nil, err
	}
	if _, ok := k.Subresource(subresource); !ok && subresource != "" {
		return nil, nil
	}
	return c.TreeOf(k, subresource)
}

// tree returns the permission tree of a kind, compiled from the OpenAPI document of a group and
// version. That document may belong to another group than the kind: those of apps and core both
// contain autoscaling/v1 Scale.
func (c *Cluster) tree(version kubeschema.GroupVersion, kind kubeschema.GroupVersionKind) (*schema.Tree, *document, error) {
	doc, err := c.document(version)
	if err != nil {
		return nil, nil, err
	}
	known := c.kinds[kind]
	if known == nil {
		known = &compiledTree{}
		known.tree, known.err = doc.models.ByKind(kind)
		c.kinds[kind] = known
	}
	return known.tree, doc, known.err
}

func (c *Cluster) document(version kubeschema.GroupVersion) (*document, error) {
	if doc := c.documents[version]; doc != nil {
		return doc, nil
	}
	published, err := c.root.GVSpec(version)
	if err != nil {
		return nil, fmt.Errorf("read the schemas of %s at /openapi/v3: %w", version, err)
	}
	if published.Components == nil {
		return nil, fmt.Errorf("the server publishes no schemas for %s", version)
	}
	definitions := published.Components.Schemas
	if !publishesPermissions(definitions) {
		if !c.stock {
			return nil, ErrNoPermissions
		}
		if definitions, err = withBuiltin(definitions); err != nil {
			return nil, err
		}
	}
	doc := &document{definitions, schema.NewModels(definitions, schema.WithExpressions(ServerComputed{}))}
	c.documents[version] = doc
	return doc, nil
}

// publishesPermissions reports whether published schemas have permissions. It looks only at
// metadata.labels, because a server that authorizes single fields publishes a permission for the
// labels of each kind.
func publishesPermissions(definitions map[string]*spec.Schema) bool {
	for name, s := range definitions {
		if !strings.HasSuffix(name, ".ObjectMeta") {
			continue
		}
		if labels, ok := s.Properties["labels"]; ok && labels.Extensions[schema.ExtVerb] != nil {
			return true
		}
	}
	return false
}

// ServerComputed replaces the expressions of a definition that compute parameters of verbs. Only
// the server can evaluate such an expression, because clients do not have its function library.
type ServerComputed struct{}

// ErrComputed means that only the server can compute the parameter of a verb.
var ErrComputed = errors.New("the parameter is computed by the server, so its value is not known here")

// Compile accepts any expression without compiling it. It implements schema.Expressions.
func (ServerComputed) Compile(string) (schema.Expression, error) { return ServerComputed{}, nil }

// Parameter returns ErrComputed. It implements schema.Expression.
func (ServerComputed) Parameter(context.Context, string) (string, int64, error) {
	return "", 1, ErrComputed
}
