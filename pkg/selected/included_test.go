// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// answers is an authorizer with an answer for each verb. A verb without an answer is not allowed.
type answers map[string]authorizer.Decision

var errUnanswered = errors.New("no answer")

// broken stands for a verb for which the authorizer fails.
const broken authorizer.Decision = -1

// deniedBroken stands for a verb that the authorizer denies because it fails.
const deniedBroken authorizer.Decision = -2

func (a answers) authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, known := a[attributes.GetVerb()]
	switch {
	case attributes.GetUser().GetName() != "alice":
		return authorizer.DecisionDeny, "somebody else is asked about", nil
	case !known:
		return authorizer.DecisionNoOpinion, "", nil
	case decision == deniedBroken:
		return authorizer.DecisionDeny, "", errUnanswered
	case decision == broken:
		return authorizer.DecisionNoOpinion, "", errUnanswered
	}
	return decision, "", nil
}

// TestIncludedOfDelegator holds what a delegator is allowed by verbs that include the verb of the request,
// as the delegator would be without a delegation: a Deny is lost only if other verbs allow the request.
func TestIncludedOfDelegator(t *testing.T) {
	const (
		allow   = authorizer.DecisionAllow
		deny    = authorizer.DecisionDeny
		nothing = authorizer.DecisionNoOpinion

		key, domain, labels = "granular:label(example.com/team)", "granular:label(example.com)", "granular:labels"
	)
	for name, tc := range map[string]struct {
		answers answers
		want    authorizer.Decision
		err     error
	}{
		"the verb itself":                      {answers{key: allow}, allow, nil},
		"nothing":                              {answers{}, nothing, nil},
		"the domain":                           {answers{domain: allow}, allow, nil},
		"another domain":                       {answers{"granular:label(example.org)": allow}, nothing, nil},
		"all ordinary verbs":                   {answers{"create": allow, "update": allow, "patch": allow}, allow, nil},
		"one ordinary verb less":               {answers{"create": allow, "update": allow}, nothing, nil},
		"the verb itself is denied":            {answers{key: deny, domain: allow, labels: allow}, deny, nil},
		"the domain is denied":                 {answers{domain: deny}, deny, nil},
		"the domain is denied, labels are not": {answers{domain: deny, labels: allow}, allow, nil},
		"an ordinary verb is denied":           {answers{"create": allow, "update": deny, "patch": allow}, deny, nil},
		"no answer about the verb itself":      {answers{key: broken}, nothing, errUnanswered},
		"no answer about the domain":           {answers{domain: broken}, nothing, errUnanswered},
		"no answer about the domain, labels":   {answers{domain: broken, labels: allow}, allow, nil},
		"a Deny with a failure":                {answers{key: deniedBroken}, deny, errUnanswered},
		"a Deny after a failure":               {answers{key: broken, labels: deny}, deny, errUnanswered},
	} {
		t.Run(name, func(t *testing.T) {
			asked := authorizer.AttributesRecord{
				User: &user.DefaultInfo{Name: "bot"}, Verb: key, Resource: "pods", Name: "a", ResourceRequest: true,
			}
			a := &Authorizer{Authorizer: authorizer.AuthorizerFunc(tc.answers.authorize)}
			got, err := a.asDelegator(t.Context(), asked, &user.DefaultInfo{Name: "alice"})
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%v, %v; want %v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}
