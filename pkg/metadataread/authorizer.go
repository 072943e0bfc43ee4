// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package metadataread

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/klog/v2"

	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/rbacindex"
)

// Verb is the verb that a caller needs on a resource to read metadata alone. It has no prefix and
// needs no other verb. The verbs get, list and watch together include it.
const Verb = included.MetadataVerb

// Authorizer decides who may read metadata alone. It implements granular.ReadGate.
type Authorizer struct {
	configured upstream.Authorizer
}

var _ granular.ReadGate = &Authorizer{}

// New returns an Authorizer that asks the configured authorizer.
func New(configured upstream.Authorizer) *Authorizer { return &Authorizer{configured: configured} }

// FallbackRead asks the configured authorizer whether the caller holds the verb "readmetadata" on
// the resource and name of a get, list or watch. It does not ask about other requests, and not if
// the Accept header shows that the client does not want metadata. The server calls FallbackRead
// only if the authorizer returned NoOpinion for the ordinary verb: a Deny is final.
func (r *Authorizer) FallbackRead(
	ctx context.Context, a upstream.Attributes, accept string,
) (granular.Reduction, upstream.Decision, string, error) {
	if r == nil || !a.IsResourceRequest() || a.GetSubresource() != "" || !acceptsMetadata(a.GetVerb(), accept) {
		return nil, upstream.DecisionNoOpinion, "", nil
	}
	asked := readAttributes{a}
	decision, reason, err := r.configured.Authorize(rbacindex.For(ctx, asked), asked)
	if decision == upstream.DecisionAllow {
		return &reduction{}, decision, reason, nil
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Unable to check whether the caller may read metadata",
			"verb", a.GetVerb(), "group", a.GetAPIGroup(), "resource", a.GetResource(),
			"object", klog.KRef(a.GetNamespace(), a.GetName()))
		err = errUnanswered
	}
	return nil, upstream.DecisionNoOpinion, "", err
}

// readAttributes are the attributes of a get, list or watch, with the verb "readmetadata".
type readAttributes struct {
	upstream.Attributes
}

func (readAttributes) GetVerb() string { return Verb }
