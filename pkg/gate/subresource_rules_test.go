// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
)

// ruled is an authorizer that allows and fails like another one, and whose caller has one rule.
type ruled struct {
	erring
	rule upstream.DefaultResourceRuleInfo
}

func (r ruled) RulesFor(context.Context, user.Info, string) ([]upstream.ResourceRuleInfo, []upstream.NonResourceRuleInfo, bool, error) {
	return []upstream.ResourceRuleInfo{&r.rule}, nil, false, nil
}

// TestRulesOfSubresources checks when a rule of a resource may allow a request for its subresource, as ABAC has it:
// if it has all verbs and names the resource. Only then is the authorizer asked once more, and its failure is not lost.
func TestRulesOfSubresources(t *testing.T) {
	all, some := []string{"*"}, []string{"get"}
	for name, tc := range map[string]struct {
		subresource     string
		verbs, resource []string
		perhaps         bool
	}{
		"all verbs of the resource":     {"status", all, []string{"things"}, true},
		"some verbs":                    {"status", some, []string{"things"}, false},
		"all verbs of another resource": {"status", all, []string{"others"}, false},
		"no subresource":                {"", some, []string{"things"}, false},
		"no subresource, all verbs":     {"", all, []string{"others"}, false},
	} {
		var asked []string
		a := attributes("patch")
		a.Subresource = tc.subresource
		authorizer := ruled{erring{fails: map[string]error{"granular:a": errErring}, asked: &asked},
			upstream.DefaultResourceRuleInfo{Verbs: tc.verbs, APIGroups: []string{"*"}, Resources: tc.resource}}
		p := &authorizerAdapter{authorizer: authorizer, attributes: a}
		first, err := p.FirstAllowed(t.Context(), []string{"granular:a", "granular:b", "granular:c", "granular:d"})
		if first != -1 || errors.Is(err, errErring) != tc.perhaps || (len(asked) == 1) != tc.perhaps {
			t.Errorf("%s: %d, %v, asked %q", name, first, err, asked)
		}
	}
	// Without a subresource, a rule of the resource itself is known: nothing is perhaps.
	p := &authorizerAdapter{attributes: attributes("patch")}
	if p.perhapsApplies(&upstream.DefaultResourceRuleInfo{Verbs: all, APIGroups: []string{"*"}, Resources: []string{"things"}}) {
		t.Error("a rule of the resource applies perhaps")
	}
}
