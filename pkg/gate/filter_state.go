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

// filterState is what the filter found out about a granular request.
type filterState struct {
	warnings *redact.Warnings
	// attributes are those of the filter's question.
	attributes upstream.Attributes
	// query is the query of the question for "granular", which may be nil. The verification asks
	// about the same caller, often before any binding changed.
	query *rbacindex.Query
}

type filterStateKey struct{}

// withFilterState returns the context of the request with a filterState, which receives the
// warnings of the request.
func withFilterState(ctx context.Context, attributes upstream.Attributes, query *rbacindex.Query) context.Context {
	p := &filterState{redact.NewWarnings(ctx), attributes, query}
	return warning.WithWarningRecorder(context.WithValue(ctx, filterStateKey{}, p), p.warnings)
}

// filterStateFrom returns the filterState of a granular request, nil for any other.
func filterStateFrom(ctx context.Context) *filterState {
	p, _ := ctx.Value(filterStateKey{}).(*filterState)
	return p
}
