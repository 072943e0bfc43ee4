// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package recipes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// TestLentRecipes lends each recipe, and runs its commands with the kubeconfig and nothing else: kubectl, Helm
// and Flux work as with a role that is bound. After the loan has ended, the first command that needs a
// permission is refused.
//
// Attack: a client of any kind (kubectl, Helm, Flux) continues with a lent kubeconfig after the loan was revoked
// Answer: 401 or 403
func TestLentRecipes(t *testing.T) {
	c := harness.Start(t, "--demo=false", "--feature-gates", gates)
	tools := clients(t)
	found, err := filepath.Glob(filepath.Join(files, "*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no recipes: %v", err)
	}
	for _, file := range slices.DeleteFunc(found, func(file string) bool { return strings.HasSuffix(file, ".test.yaml") }) {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if name == "lend-job" {
			continue // it lends itself
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := load(t, file, filepath.Join("testdata", name+".yaml"))
			c := c
			if r.Closes {
				c = harness.Start(t, "--demo=false", "--feature-gates", gates)
			}
			if r.Definition != "" {
				harness.MustKubectl(t, c, r.Definition, "apply", "-f", "-")
			}
			harness.MustKubectl(t, c, "", "apply", "-f", file)
			a := try(t, c, tools, r, r.role.Rules)
			const granular = "kubectl granular --kubeconfig kubeconfig- "
			if out, err := a.run(granular + "lend --everywhere --role clusterrole/" + r.role.Name + " --to $NODE/client --for 30m --output lent --yes"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			// Helm and the recipes want a namespace in the context.
			if out, err := a.run("kubectl --kubeconfig lent config set-context --current --namespace=$NODE"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			lent := *a
			lent.env = append(slices.Clip(a.env), "KUBECONFIG="+filepath.Join(a.dir, "lent"))
			all(t, &lent, r.Allowed)
			for _, refused := range r.Refused {
				if out, err := lent.run(refused.Run); err == nil {
					t.Errorf("%s: was not refused\n%s", refused.Run, out)
				}
			}
			if out, err := a.run(granular + "lend --revoke $NODE/client"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			needed(t, &lent, r.Allowed)
			if text, err := os.ReadFile(filepath.Join(a.dir, "lent")); err != nil || strings.Contains(string(text), "client-key") {
				t.Errorf("the kubeconfig has the lender's key: %v", err)
			}
		})
	}
}
