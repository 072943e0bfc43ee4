// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
)

// verbAttributes are the attributes of a request with another verb. Resource,
// subresource, name and user stay those of the request, which is why permissions
// never name a kind.
type verbAttributes struct {
	upstream.Attributes
	verb string
}

func withVerb(a upstream.Attributes, verb string) upstream.Attributes {
	if v, ok := a.(verbAttributes); ok {
		a = v.Attributes
	}
	return verbAttributes{Attributes: a, verb: verb}
}

func (a verbAttributes) GetVerb() string  { return a.verb }
func (a verbAttributes) IsReadOnly() bool { return a.verb == "get" }

// port answers package decide with the configured authorizer, one verb at a time.
type port struct {
	authorizer upstream.Authorizer
	attributes upstream.Attributes
}

// FirstAllowed gives the index of the first verb that is allowed, or -1. A Deny
// of a permission verb says that this permission covers nothing; a more specific
// one may still be allowed. An error that comes with Allow is ignored, as the
// filter WithAuthorization does.
func (p port) FirstAllowed(ctx context.Context, verbs []string) (int, error) {
	for i, verb := range verbs {
		decision, _, err := p.authorizer.Authorize(ctx, withVerb(p.attributes, verb))
		if decision == upstream.DecisionAllow {
			return i, nil
		}
		if err != nil {
			return -1, err
		}
	}
	return -1, nil
}
