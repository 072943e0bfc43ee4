// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestUncovered checks which rights of rules others cover. Each pair of rules that covers has a twin that does not.
func TestUncovered(t *testing.T) {
	rule := func(group, resource, verb string, names ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}, ResourceNames: names}}
	}
	for name, tc := range map[string]struct {
		rules, others []rbacv1.PolicyRule
		want          string
	}{
		"the same":                   {rule("apps", "deployments", "get"), rule("apps", "deployments", "get"), "[]"},
		"another verb":               {rule("apps", "deployments", "get"), rule("apps", "deployments", "list"), "[deployments.apps: get]"},
		"another group":              {rule("", "pods", "get"), rule("apps", "pods", "get"), "[pods: get]"},
		"another resource":           {rule("", "pods", "get"), rule("", "secrets", "get"), "[pods: get]"},
		"a star covers":              {rule("apps", "deployments", "get"), rule("*", "*", "*"), "[]"},
		"a star is not covered":      {rule("*", "*", "*"), rule("apps", "deployments", "get"), "[*.*: *]"},
		"a star of verbs":            {rule("", "pods", "*"), rule("", "pods", "get"), "[pods: *]"},
		"one name of all":            {rule("", "pods", "get", "a"), rule("", "pods", "get"), "[]"},
		"all of one name":            {rule("", "pods", "get"), rule("", "pods", "get", "a"), "[pods: get]"},
		"another name":               {rule("", "pods", "get", "a", "b"), rule("", "pods", "get", "a"), `[pods "b": get]`},
		"a subresource is apart":     {rule("", "pods/exec", "create"), rule("", "pods", "create"), "[pods/exec: create]"},
		"a subresource of all":       {rule("apps", "deployments/scale", "get"), rule("apps", "*/scale", "get"), "[]"},
		"another subresource of all": {rule("apps", "deployments/status", "get"), rule("apps", "*/scale", "get"), "[deployments.apps/status: get]"},
		"of two rules":               {append(rule("", "pods", "get"), rule("", "pods", "list")...), append(rule("", "pods", "get"), rule("", "pods", "list")...), "[]"},
		"a path counts for nothing":  {[]rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}, nil, "[]"},
		"nothing has nothing":        {nil, rule("*", "*", "*"), "[]"},
		"verbs of fields are verbs":  {rule("apps", "deployments", "granular:replicas"), rule("apps", "deployments", "update"), "[deployments.apps: granular:replicas]"},
		"verbs are sorted once each": {append(rule("", "pods", "list"), append(rule("", "pods", "get"), rule("", "pods", "list")...)...), nil, "[pods: get,list]"},
	} {
		if got := fmt.Sprint(uncovered(tc.rules, tc.others)); got != tc.want {
			t.Errorf("%s: %s, wanted %s", name, got, tc.want)
		}
	}
}
