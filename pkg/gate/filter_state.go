// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/rbacindex"
)

// passed is what is remembered of a request that the filter let through as a granular one.
type filterState struct {
	warnings *redact.Warnings
	// attributes are those that the filter asked about.
	attributes upstream.Attributes
	// query is what "granular" was asked under, which may be nil. The questions of the
	// verification are about the same caller, often before any binding changed.
	query *rbacindex.Query
}

type filterStateKey struct{}

// withPassed returns the context of the request, whose warnings go through what is remembered.
func withFilterState(ctx context.Context, attributes upstream.Attributes, query *rbacindex.Query) context.Context {
	p := &filterState{redact.NewWarnings(ctx), attributes, query}
	return warning.WithWarningRecorder(context.WithValue(ctx, filterStateKey{}, p), p.warnings)
}

// passedAs gives nil for a request that is not granular.
func filterStateFrom(ctx context.Context) *filterState {
	p, _ := ctx.Value(filterStateKey{}).(*filterState)
	return p
}
