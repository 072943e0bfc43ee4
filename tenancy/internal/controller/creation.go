// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/naming"
)

// Reasons why a new tenant gets no namespace.
const (
	reasonName    = "NameRefused"
	reasonClaimed = "NameClaimed"
	reasonTooMany = "TooManyLNamespaces"
)

// creationInterval is the interval at which a tenant that got no namespace is reconciled.
const creationInterval = time.Minute

// Creation has the rules for new tenants. They hold for tenants that never had a namespace and that no
// administrator allowed.
type Creation struct {
	// Names are the names that tenants can't have.
	Names naming.Rules
	// PerCreator is the number of LNamespaces that one person can create. 0 means any number.
	PerCreator int
}

// refusal explains why a new tenant gets no namespace.
type refusal struct{ reason, message string }

// Check returns an error if the rules refuse the new tenant.
func (c Creation) Check(ctx context.Context, api client.Reader, t *v1alpha1.LNamespace) (refused, err error) {
	r, err := c.refused(ctx, api, t)
	if r != nil {
		refused = errors.New(r.message)
	}
	return refused, err
}

// refused returns why the tenant gets no namespace, or nil if it may have one. The namespace does not
// exist.
func (c Creation) refused(ctx context.Context, api client.Reader, t *v1alpha1.LNamespace) (*refusal, error) {
	if t.Status.NamespaceUID != "" || t.Annotations[names.Allowed] == "true" {
		return nil, nil
	}
	if err := c.Names.Refused(t.Name); err != nil {
		return &refusal{reasonName, err.Error()}, nil
	}
	if refused, err := c.tooMany(ctx, api, t); refused != nil || err != nil {
		return refused, err
	}
	err := naming.Claims(ctx, api, t.Name)
	if errors.Is(err, naming.ErrClaimed) {
		return &refusal{reasonClaimed, err.Error()}, nil
	}
	return nil, err
}

// tooMany returns a refusal if the creator of the tenant has as many older LNamespaces as are allowed.
// LNamespaces that an administrator allowed do not count.
func (c Creation) tooMany(ctx context.Context, api client.Reader, t *v1alpha1.LNamespace) (*refusal, error) {
	creator := t.Annotations[names.Creator]
	if c.PerCreator <= 0 || creator == "" {
		return nil, nil
	}
	list := &v1alpha1.LNamespaceList{}
	if err := api.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list LNamespaces: %w", err)
	}
	older := 0
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != t.UID && other.Annotations[names.Creator] == creator && other.Annotations[names.Allowed] != "true" && isOlder(other, t) {
			older++
		}
	}
	if older < c.PerCreator {
		return nil, nil
	}
	return &refusal{reasonTooMany, fmt.Sprintf("%q has %d LNamespaces already, and may create %d; delete one, or ask an administrator", creator, older, c.PerCreator)}, nil
}

// isOlder reports whether a was created before b. b may be new, without a time of creation. Of two
// LNamespaces of the same second, one is older than the other and not the other way round.
func isOlder(a, b *v1alpha1.LNamespace) bool {
	if b.CreationTimestamp.IsZero() {
		return true
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}
