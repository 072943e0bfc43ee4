// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/openapi3"

	"kube-granular.dev/granular/schema"
)

const (
	// patience is how long one command waits for the schemas of new definitions.
	patience = 10 * time.Second
	// pause is the time between two looks.
	pause = 100 * time.Millisecond
)

// publishedTree returns what tree returns. The server lists a new custom resource in discovery
// before it publishes the schemas, and withdraws the schemas for a moment when the status of the
// definition changes. So publishedTree waits until they are published. All waits of c together
// take no longer than c.patience: a server may list a kind whose schema it never publishes.
func (c *Cluster) publishedTree(version kubeschema.GroupVersion, kind kubeschema.GroupVersionKind) (*schema.Tree, *document, error) {
	tree, doc, err := c.tree(version, kind)
	if !unpublished(err) {
		return tree, doc, err
	}
	started := time.Now()
	// The error of the wait is that of its end, which says less than the last err.
	_ = wait.PollUntilContextTimeout(context.Background(), pause, c.patience, false, func(context.Context) (bool, error) {
		c.forget(version, kind)
		tree, doc, err = c.tree(version, kind)
		return !unpublished(err), nil
	})
	c.patience -= min(c.patience, time.Since(started))
	return tree, doc, err
}

// forget makes the next call of tree read the document of a version anew.
func (c *Cluster) forget(version kubeschema.GroupVersion, kind kubeschema.GroupVersionKind) {
	c.invalidateCache() // also holds the paths of the documents
	delete(c.documents, version)
	delete(c.kinds, kind)
}

// unpublished reports whether an error of tree means that the server does not publish the schema
// of a kind, now.
func unpublished(err error) bool {
	var missing *openapi3.GroupVersionNotFoundError
	return errors.As(err, &missing) || apierrors.IsNotFound(err) || errors.Is(err, schema.ErrNoDefinition)
}
