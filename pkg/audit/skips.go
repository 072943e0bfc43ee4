// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// Skips writes which webhooks were not asked about the verb of a request. It implements
// granular.Skips. Other questions of the request, such as those about permission verbs, are not
// recorded: there can be many. The zero value is ready to use.
type Skips struct{}

var _ granular.Skips = Skips{}

// skipsKey is the key of a context's list of names, a *[]string.
type skipsKey struct{}

// Record implements granular.Skips. It does nothing if no audit event is made for the request.
func (Skips) Record(ctx context.Context) (context.Context, func()) {
	if !audit.AuditContextFrom(ctx).Enabled() {
		return ctx, func() {}
	}
	names := &[]string{}
	return context.WithValue(ctx, skipsKey{}, names), func() {
		if len(*names) > 0 {
			audit.AddAuditAnnotation(ctx, SkippedAnnotation, Listed(*names))
		}
	}
}

// Add implements granular.Skips. A webhook that is asked for several users is listed once.
func (Skips) Add(ctx context.Context, webhook string) {
	if names, ok := ctx.Value(skipsKey{}).(*[]string); ok && !slices.Contains(*names, webhook) {
		*names = append(*names, webhook)
	}
}
