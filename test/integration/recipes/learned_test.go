// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package recipes

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// TestLearnedFromClients lets Flux and Helm work with wide rights, and learns a role of each from the
// audit log. With the learned role alone, the client does the same work again. Without any one of its
// verbs, a step fails.
func TestLearnedFromClients(t *testing.T) {
	flags, log := harness.LogBodies(t)
	c := harness.Start(t, append([]string{"--demo=false", "--feature-gates", "MetadataReads=true", "--"}, flags...)...)
	tools := clients(t)
	verbs := []string{"get", "list", "create", "update", "patch", "delete"}
	wide := []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs},
		{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: verbs},
	}
	for _, name := range []string{"flux", "helm"} {
		t.Run(name, func(t *testing.T) {
			r := load(t, filepath.Join(files, name+".yaml"), filepath.Join("testdata", name+".yaml"))
			a := try(t, c, tools, r, wide)
			all(t, a, r.Allowed)
			rules := learned(t, c, log, a.user)
			for _, rule := range rules {
				t.Logf("%s %s: %s", rule.Resources, rule.ResourceNames, rule.Verbs)
				for _, verb := range rule.Verbs {
					if verb == "update" || verb == "patch" {
						t.Errorf("the learned role has the verb %s on %s %s", verb, rule.Resources, rule.ResourceNames)
					}
				}
			}
			all(t, try(t, c, tools, r, rules), r.Allowed)
			for i, rule := range rules {
				for _, verb := range rule.Verbs {
					t.Run(fmt.Sprintf("without %s of %s %s", verb, rule.Resources, rule.ResourceNames), func(t *testing.T) {
						t.Parallel()
						needed(t, try(t, c, tools, r, without(rules, i, verb)), r.Allowed)
					})
				}
			}
		})
	}
}

func all(t *testing.T, a *attempt, commands []string) {
	t.Helper()
	for _, command := range commands {
		if out, err := a.run(command); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

// learned returns the rules of the roles that are learned for a user from an audit log.
func learned(t *testing.T, c *cluster.Cluster, log, user string) []rbacv1.PolicyRule {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(filepath.Join(bin, "kubectl-granular"), "role", "--kubeconfig", c.Kubeconfig("admin"),
		"--subject", "user:"+user, "--from-audit", log)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return harness.RulesIn(t, string(out))
}
