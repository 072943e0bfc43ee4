// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"
)

// asking is a context whose questions are about one caller. The listers look for the
// type and not for a value, which costs those that ask otherwise next to nothing; a
// context that is made from this one is a context like any other.
type asking struct {
	context.Context
	caller user.Info
}

// For returns the context to ask an authorizer about caller with, and about nobody
// else: it would seem to have no grants. It is for the one call, no request may go on
// under it.
func For(ctx context.Context, caller user.Info) context.Context {
	if caller == nil {
		return ctx
	}
	return asking{ctx, caller}
}

// caller is whom a question is about, nil where it was not asked under For.
func caller(ctx context.Context) user.Info {
	if a, ok := ctx.(asking); ok {
		return a.caller
	}
	return nil
}
