// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"

	"kube-granular.dev/pkg/rbacindex"
)

// Holds reports whether the caller of a request holds a verb for the resource, subresource and name
// of the request, beside the verb of the request itself. ctx is the context of the request. If the
// authorizer fails, the error is written to the log, and Holds returns an error for the caller.
func Holds(ctx context.Context, authorizer upstream.UnconditionalAuthorizer, verb string) (bool, error) {
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return false, err
	}
	allowed, err := allows(rbacindex.For(ctx, attributes), authorizer, attributes, verb)
	if allowed {
		return true, nil
	}
	return false, unanswered(ctx, attributes, err)
}
