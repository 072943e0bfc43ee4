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

// filterState is what the authorization filter learned about a granular request: one whose caller
// lacks the ordinary verb, and holds the verb "granular".
type filterState struct {
	warnings *redact.Warnings
	// attributes are the attributes that the filter authorized.
	attributes upstream.Attributes
	// query holds what RBAC read to authorize the verb "granular". It may be nil. The
	// verification of the fields reuses it if no binding changed in between, because it concerns
	// the same caller.
	query *rbacindex.Query
}

type filterStateKey struct{}

// withFilterState returns the context of a granular request with a new filterState. Its recorder
// receives the warnings of the request.
func withFilterState(ctx context.Context, attributes upstream.Attributes, query *rbacindex.Query) context.Context {
	p := &filterState{redact.NewWarnings(ctx), attributes, query}
	return warning.WithWarningRecorder(context.WithValue(ctx, filterStateKey{}, p), p.warnings)
}

// filterStateFrom returns the filterState of a granular request, or nil for any other request.
func filterStateFrom(ctx context.Context) *filterState {
	p, _ := ctx.Value(filterStateKey{}).(*filterState)
	return p
}
