// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// asking is a context whose questions are about one caller and one resource. Listers and
// getters look for the type and not for a value, which costs those that ask otherwise next
// to nothing; a context that is made from this one is a context like any other.
type asking struct {
	context.Context
	about authorizer.Attributes
	keys  callerKeys
}

// For returns the context to ask an authorizer with about what the user of a request may
// do to its resource, by whatever verb, and about nothing else: there would seem to be no
// grants. It is for questions alone, no request may go on under it.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	caller := about.GetUser()
	if caller == nil || !about.IsResourceRequest() {
		return ctx
	}
	return &asking{ctx, about, keysOf(about.GetNamespace(), caller)}
}

// asked is what a question was asked under, nil where that was not For.
func asked(ctx context.Context) *asking {
	a, _ := ctx.(*asking)
	return a
}
