// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// ErrNoPermissions means that a server does not authorize single fields.
var ErrNoPermissions = errors.New("the server publishes no permissions (x-kubernetes-permission-verb) in its OpenAPI document, " +
	"so it does not authorize single fields: it has no patches, or its feature gate GranularAuthorization is off; " +
	"use the context of a kube-granular server (--context)")

// Recognize returns ErrNoPermissions if the server does not authorize single fields: it has no patches,
// or its feature gate is off. It returns another error if that is not known. All commands recognize the
// server by it.
func (c *Cluster) Recognize() error {
	// Every server serves this group, and its OpenAPI document is small.
	_, err := c.document(authorizationv1.SchemeGroupVersion)
	return err
}
