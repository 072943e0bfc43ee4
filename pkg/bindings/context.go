// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// asking is a context whose questions are about one caller and one resource. Listers and
// getters look for the type and not for a value, which costs those that ask otherwise next
// to nothing; a context that is made from this one is a context like any other.
type asking struct {
	context.Context
	about authorizer.Attributes
}

// For returns the context to ask an authorizer with about what the user of a request may
// do to its resource, by whatever verb, and about nothing else: there would seem to be no
// grants. It is for the one call, no request may go on under it.
func For(ctx context.Context, about authorizer.Attributes) context.Context {
	if about.GetUser() == nil || !about.IsResourceRequest() {
		return ctx
	}
	return asking{ctx, about}
}

// caller is whom a question is about, nil where it was not asked under For.
func caller(ctx context.Context) user.Info {
	if a, ok := ctx.(asking); ok {
		return a.about.GetUser()
	}
	return nil
}
