// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"
)

// passed is what is remembered of a request that the filter let through as a granular one.
type passed struct {
	warnings *warnings
	// attributes are those that the filter asked about.
	attributes upstream.Attributes
	// asked is what "granular" was asked under. The questions of the verification are asked
	// about the same caller, often before any binding changed.
	asked context.Context
}

type passedKey struct{}

// withPassed returns the context of the request, whose warnings go through what is remembered.
func withPassed(ctx context.Context, attributes upstream.Attributes, asked context.Context) context.Context {
	p := &passed{newWarnings(ctx), attributes, asked}
	return warning.WithWarningRecorder(context.WithValue(ctx, passedKey{}, p), p.warnings)
}

// passedAs gives nil for a request that is not granular.
func passedAs(ctx context.Context) *passed {
	p, _ := ctx.Value(passedKey{}).(*passed)
	return p
}
