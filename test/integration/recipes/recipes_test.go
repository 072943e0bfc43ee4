// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package recipes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// files is the directory of the recipes.
const files = "../../../docs/recipes"

const gates = "MetadataReads=true,SelectedAuthority=true,AuthorityDelegation=true,FieldPermissions=true"

// recipe is a role of docs/recipes, with what its test needs.
type recipe struct {
	role rbacv1.ClusterRole
	// Definition is the CustomResourceDefinition that the recipe is about, if any. For each
	// user that is tried, an administrator applies Setup and runs the commands of Before. $NODE
	// stands for a name that is unique to that user.
	Definition, Setup string
	Before            []string
	// Files are written into the directory where the commands run. It also has the file kubeconfig-, with
	// the credentials of the administrator.
	Files map[string]string
	// Allowed are the commands that the recipe must allow, in the order in which they run.
	Allowed []string
	Refused []struct{ Run, Says string }
	// Closes is set for a recipe that closes a field for everybody. It is tried on a server of its own.
	Closes bool
}

// TestRecipes checks that each recipe allows its task, refuses similar tasks, and has no
// superfluous verb or resource.
func TestRecipes(t *testing.T) {
	c := harness.Start(t, "--demo=false", "--feature-gates", gates)
	tools := clients(t)
	found, err := filepath.Glob(filepath.Join(files, "*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no recipes: %v", err)
	}
	table, err := os.ReadFile(filepath.Join(files, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	// A test of a role beside its recipe belongs to the command kube-granular test.
	found = slices.DeleteFunc(found, func(file string) bool { return strings.HasSuffix(file, ".test.yaml") })
	for _, file := range found {
		if base := filepath.Base(file); !strings.Contains(string(table), "| ["+base+"]("+base+") |") {
			t.Errorf("README.md does not list %s", base)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
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
			if out, err := harness.Kubectl(t, c, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil && !strings.Contains(out, "no matching") {
				t.Fatal(out)
			}
			begin := time.Now()
			whole := try(t, c, tools, r, r.role.Rules)
			all(t, whole, r.Allowed)
			t.Logf("the %d commands of the task took %s", len(r.Allowed), time.Since(begin).Round(100*time.Millisecond))
			for _, refused := range r.Refused {
				out, err := whole.run(refused.Run)
				if err == nil {
					t.Errorf("%s: was not refused\n%s", refused.Run, out)
				} else if !regexp.MustCompile(refused.Says).MatchString(out) {
					t.Errorf("%s: refused otherwise than with %q\n%s", refused.Run, refused.Says, out)
				}
			}
			for i, rule := range r.role.Rules {
				for _, verb := range rule.Verbs {
					t.Run(fmt.Sprintf("without %s of %s", verb, rule.Resources), func(t *testing.T) {
						needed(t, try(t, c, tools, r, without(r.role.Rules, i, verb)), r.Allowed)
					})
				}
				if len(rule.Resources) == 1 {
					continue
				}
				for _, resource := range rule.Resources {
					t.Run("without "+resource, func(t *testing.T) {
						needed(t, try(t, c, tools, r, withoutResource(r.role.Rules, i, resource)), r.Allowed)
					})
				}
			}
		})
	}
}

// clients builds the programs flux and helm, and returns their directory.
func clients(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "-C", "../../gitops", "build", "-o", dir+string(filepath.Separator), "./flux", "helm.sh/helm/v3/cmd/helm")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build flux and helm: %v\n%s", err, out)
	}
	return dir
}

// needed fails if all commands succeed, because then the removed verb or resource was not needed.
func needed(t *testing.T, a *attempt, commands []string) {
	t.Helper()
	for _, command := range commands {
		if _, err := a.run(command); err != nil {
			return
		}
	}
	t.Error("all that the recipe is for was allowed without it")
}

// without returns the rules with one verb of one rule removed.
func without(rules []rbacv1.PolicyRule, at int, verb string) []rbacv1.PolicyRule {
	rules = slices.Clone(rules)
	rules[at].Verbs = slices.DeleteFunc(slices.Clone(rules[at].Verbs), func(v string) bool { return v == verb })
	if len(rules[at].Verbs) == 0 {
		return slices.Delete(rules, at, at+1)
	}
	return rules
}

// withoutResource returns the rules with one resource of one rule removed. The rule must have
// another resource.
func withoutResource(rules []rbacv1.PolicyRule, at int, resource string) []rbacv1.PolicyRule {
	rules = slices.Clone(rules)
	rules[at].Resources = slices.DeleteFunc(slices.Clone(rules[at].Resources), func(one string) bool { return one == resource })
	return rules
}

// load reads a recipe, whose role is the last document of its file, and its test data.
func load(t *testing.T, file, data string) *recipe {
	t.Helper()
	text, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	r := &recipe{}
	if err := yaml.UnmarshalStrict(text, r); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(documents[len(documents)-1]), &r.role); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if r.role.Kind != "ClusterRole" || len(r.role.Rules) == 0 || len(r.Allowed) == 0 || len(r.Refused) == 0 {
		t.Fatalf("%s: a recipe is a ClusterRole with rules, commands that it allows and commands that it refuses", file)
	}
	return r
}

// attempt is a user with certain rules and a namespace of its own.
type attempt struct {
	user string
	dir  string
	env  []string
}

func (a *attempt) run(command string) (string, error) {
	cmd := exec.Command("bash", "-o", "pipefail", "-c", command)
	cmd.Dir, cmd.Env = a.dir, a.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// try creates the objects of a recipe in a new namespace, and a user that holds the rules.
func try(t *testing.T, c *cluster.Cluster, tools string, r *recipe, rules []rbacv1.PolicyRule) *attempt {
	t.Helper()
	id := fmt.Sprintf("recipe-%d", harness.Unique())
	client := harness.Administrator(t, c)
	// There are some hundred attempts, and kubectl takes a tenth of a second to start.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a := &attempt{user: id, dir: t.TempDir()}
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	expand := func(text string) string { return strings.ReplaceAll(text, "$NODE", id) }
	for name, text := range r.Files {
		file := filepath.Join(a.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(expand(text)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	a.env = append(os.Environ(), "PATH="+strings.Join([]string{bin, tools, os.Getenv("PATH")}, string(os.PathListSeparator)), "HOME="+a.dir, "NODE="+id)
	admin := *a
	admin.env = append(slices.Clip(a.env), "KUBECONFIG="+kubeconfig(t, c, a.dir, id, ""))
	a.env = append(slices.Clip(a.env), "KUBECONFIG="+kubeconfig(t, c, a.dir, id, id))
	if r.Setup != "" {
		harness.MustKubectl(t, c, expand(r.Setup), "apply", "--server-side", "-n", id, "-f", "-")
	}
	for _, command := range r.Before {
		if out, err := admin.run(command); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	harness.Allow(t, client, id, rules...)
	return a
}

// kubeconfig writes a kubeconfig with the administrator's credentials, which impersonates user
// unless it is empty.
func kubeconfig(t *testing.T, c *cluster.Cluster, dir, namespace, user string) string {
	t.Helper()
	return harness.KubeconfigWith(t, c, filepath.Join(dir, "kubeconfig-"+user), func(config *clientcmdapi.Config) {
		for _, who := range config.AuthInfos {
			who.Impersonate = user
		}
		for _, context := range config.Contexts {
			context.Namespace = namespace
		}
	})
}
