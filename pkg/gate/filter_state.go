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

// filterState is what the authorization filter found out about a granular request, for the later
// verification of the request's fields. The caller of a granular request lacks the ordinary verb
// and holds the verb "granular".
type filterState struct {
	warnings *redact.Warnings
	// attributes are the attributes that the filter authorized.
	attributes upstream.Attributes
	// query holds the bindings and rules of the caller that RBAC read to authorize the verb
	// "granular", or is nil. The verification of the fields uses them again if nothing changed
	// meanwhile.
	query *rbacindex.Query
}

type filterStateKey struct{}

// withFilterState returns the context of a granular request with a new filterState. From then on
// the warnings of the request go to the field warnings of the filterState, which can hold them
// back.
func withFilterState(ctx context.Context, attributes upstream.Attributes, query *rbacindex.Query) context.Context {
	p := &filterState{redact.NewWarnings(ctx), attributes, query}
	return warning.WithWarningRecorder(context.WithValue(ctx, filterStateKey{}, p), p.warnings)
}

// filterStateFrom returns the filterState of a granular request, or nil for any other request.
func filterStateFrom(ctx context.Context) *filterState {
	p, _ := ctx.Value(filterStateKey{}).(*filterState)
	return p
}
