// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// Surveys reads what is in the cluster.
	Surveys *naming.Surveys
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
	survey, err := c.Surveys.For(ctx, api, t.UID)
	if err != nil || c.against(survey, t) == nil {
		return nil, err
	}
	// What speaks against the tenant may be gone since.
	if survey, err = c.Surveys.Fresh(ctx, api); err != nil {
		return nil, err
	}
	return c.against(survey, t), nil
}

// against returns what speaks against a new tenant in a survey, or nil.
func (c Creation) against(survey *naming.Survey, t *v1alpha1.LNamespace) *refusal {
	if refused := c.tooMany(survey, t); refused != nil {
		return refused
	}
	if err := survey.Claims(t.Name); err != nil {
		return &refusal{reasonClaimed, err.Error()}
	}
	return nil
}

// tooMany returns a refusal if the creator of the tenant has as many older LNamespaces as are allowed.
// LNamespaces that an administrator allowed do not count.
func (c Creation) tooMany(survey *naming.Survey, t *v1alpha1.LNamespace) *refusal {
	creator := t.Annotations[names.Creator]
	if c.PerCreator <= 0 || creator == "" {
		return nil
	}
	older := 0
	for i := range survey.Tenants {
		other := &survey.Tenants[i]
		if other.UID != t.UID && other.Annotations[names.Creator] == creator && other.Annotations[names.Allowed] != "true" &&
			isOlder(other, &t.ObjectMeta) {
			older++
		}
	}
	if older < c.PerCreator {
		return nil
	}
	return &refusal{reasonTooMany, fmt.Sprintf(
		"%q has %d LNamespaces already, and may create %d; delete one, or %s", creator, older, c.PerCreator, naming.AskAdministrator)}
}

// isOlder reports whether a was created before b. b may be new, without a time of creation. Of two
// LNamespaces of the same second, one is older than the other and not the other way round.
func isOlder(a, b *metav1.ObjectMeta) bool {
	if b.CreationTimestamp.IsZero() {
		return true
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}
