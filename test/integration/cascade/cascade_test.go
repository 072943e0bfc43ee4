// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cascade

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/controllers"
	"kube-granular.dev/test/integration/harness"
)

// rights is the manifest of the namespace and service accounts, and of the rights of the
// authors alice and carol.
const rights = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: shop}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: deployment-controller, namespace: kube-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: replicaset-controller, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: author}
rules:
- {apiGroups: [apps], resources: [deployments, replicasets], verbs: [get, create, update, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [create, update, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: author}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: carol}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: author}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}]
`

// policies returns the policies of docs/generated/controllers.md for the two controllers. keep
// sets what happens to a delegation when its author loses a right.
func policies(t *testing.T, keep v1alpha1.LossPolicy) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/generated/controllers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var out []string
	for _, one := range strings.Split(text, "---\n") {
		if strings.Contains(one, "  name: deployments\n") || strings.Contains(one, "  name: replicasets\n") {
			out = append(out, strings.Replace(one, "ifLost: Keep", "ifLost: "+string(keep), 1))
		}
	}
	if len(out) != 2 {
		t.Fatalf("the page has %d of two policies", len(out))
	}
	return strings.Join(out, "---\n")
}

func workload(name string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: i}]}}
`, name)
}

// stage is a server with the two controllers. The controllers have no right to create anything.
type stage struct {
	*cluster.Cluster
	log      string
	accounts map[string]*rest.Config
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{log: filepath.Join(t.TempDir(), "audit.log"), accounts: map[string]*rest.Config{}}
	s.Cluster = harness.Start(t, "--demo=false", "--audit-log", s.log, "--feature-gates", "SelectedAuthority=true,AuthorityDelegation=true")
	s.must(t, rights, "apply", "-f", "-")
	config := harness.Config(t, s.Cluster, "admin")
	admin := harness.Administrator(t, s.Cluster)
	for name, resource := range map[string]string{"deployment-controller": "replicasets", "replicaset-controller": "pods"} {
		strip(t, admin, "system:controller:"+name, resource)
		as := rest.AnonymousClientConfig(config)
		as.BearerToken = strings.TrimSpace(s.must(t, "", "create", "token", name, "-n", "kube-system"))
		as.QPS = -1
		s.accounts[name] = as
	}
	if err := controllers.RunAs(t.Context(), config, func(name string) *rest.Config {
		writing := rest.CopyConfig(s.accounts[name])
		writing.Wrap(selecting(name))
		return writing
	}, "deployment-controller", "replicaset-controller"); err != nil {
		t.Fatal(err)
	}
	return s
}

// strip removes all verbs but reading on a resource from a bootstrap role.
func strip(t *testing.T, admin kubernetes.Interface, name, resource string) {
	t.Helper()
	role, err := admin.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stripped := 0
	for i, rule := range role.Rules {
		if slices.Contains(rule.Resources, resource) {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
			stripped++
		}
	}
	if _, err := admin.RbacV1().ClusterRoles().Update(t.Context(), role, metav1.UpdateOptions{}); err != nil || stripped == 0 {
		t.Fatalf("%s: %d rules, error %v", name, stripped, err)
	}
}

func (s *stage) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return harness.MustKubectl(t, s.Cluster, stdin, args...)
}

func (s *stage) until(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(s.must(t, "", "get", "events", "-n", "shop"))
		}
	}()
	harness.UntilSeen(t, what, done)
}

// pods waits until a deployment has exactly this many pods.
func (s *stage) pods(t *testing.T, name string, want int) {
	t.Helper()
	s.until(t, fmt.Sprintf("%d pods of %s", want, name), func() (bool, string) {
		out := s.must(t, "", "get", "pods", "-n", "shop", "-l", "app="+name, "-o", "name")
		return strings.Count(out, "pod/") == want, out
	})
}

// told waits for an event that says why a controller could not go on.
func (s *stage) told(t *testing.T, name, reason, says string) {
	t.Helper()
	s.until(t, reason+" of "+name, func() (bool, string) {
		out := s.must(t, "", "get", "events", "-n", "shop", "-o", `jsonpath={range .items[*]}{.involvedObject.name} {.reason} {.message}{"\n"}{end}`)
		for _, line := range strings.Split(out, "\n") {
			if strings.HasPrefix(line, name) && strings.Contains(line, " "+reason+" ") && strings.Contains(line, says) {
				return true, out
			}
		}
		return false, out
	})
}

// delegate creates the policies, so that from now on the author of a deployment or replica set
// delegates rights. keep sets what happens to these delegations when the author loses a right.
func (s *stage) delegate(t *testing.T, keep v1alpha1.LossPolicy) {
	t.Helper()
	s.must(t, policies(t, keep), "create", "-f", "-")
}

// as runs kubectl as an author, and tries again until the author has the rights for it.
func (s *stage) as(t *testing.T, author, stdin string, args ...string) {
	t.Helper()
	s.until(t, "the rights of "+author, func() (bool, string) {
		out, err := harness.Kubectl(t, s.Cluster, stdin, append(args, "--as", author)...)
		return err == nil, out
	})
}

// delegation returns the name of the delegation that a policy made for an author.
func (s *stage) delegation(t *testing.T, author, policy string) string {
	t.Helper()
	out := s.must(t, "", "get", "authoritydelegations", "-o", "name", "--field-selector", "status.delegator.username="+author+",status.cause.policy="+policy)
	names := strings.Fields(out)
	if len(names) != 1 {
		t.Fatalf("%s delegates %q by %s, wanted one", author, names, policy)
	}
	_, name, _ := strings.Cut(names[0], "/")
	return name
}

// chainOf returns, from the audit log, the users and delegations behind each created pod.
func (s *stage) chainOf(t *testing.T) []string {
	t.Helper()
	out := harness.AuditChain(t, s.log, "--resource", "pods", "-n", "shop", "-o", "json")
	var list struct {
		Items []struct {
			Verb   string
			Code   int
			Origin string
			Caller struct{ Name string }
			Chain  []struct{ Via, By, Name string }
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	var chains []string
	for _, r := range list.Items {
		if r.Verb != "create" || r.Code != 201 {
			continue
		}
		var parts []string
		for _, e := range r.Chain {
			if e.Via == "Delegation" {
				parts = append(parts, e.By+" by "+e.Name)
			}
		}
		chains = append(chains, r.Origin+": "+strings.Join(append(parts, r.Caller.Name), ", "))
	}
	return chains
}

// TestCascade checks that a deployment's pods are created with the authority of its author. The
// author delegates to the deployment controller, which delegates to the replica set controller.
// With ifLost Keep, this goes on when the author loses its rights. Without a delegation, or
// after it was deleted, nothing is created, and an event says why. Another author can take the
// deployment over.
//
// Attack: controllers are asked to create objects for which nobody delegated rights, or whose delegation is gone
// Answer: 403, nothing is created
func TestCascade(t *testing.T) {
	s := newStage(t)
	s.must(t, workload("none"), "create", "-f", "-")
	s.told(t, "none", "ReplicaSetCreateError", "forbidden")
	s.delegate(t, v1alpha1.LossKeep)
	s.as(t, "alice", workload("web"), "create", "-f", "-")
	s.pods(t, "web", 1)
	const account = "system:serviceaccount:kube-system:"
	first, second := s.delegation(t, "alice", "deployments"), s.delegation(t, account+"deployment-controller", "replicasets")
	chain := account + "replicaset-controller: alice by " + first + ", " + account + "deployment-controller by " + second + ", " + account + "replicaset-controller"
	if got := s.chainOf(t); len(got) != 1 || !strings.HasSuffix(got[0], strings.TrimPrefix(chain, account+"replicaset-controller: ")) {
		t.Errorf("the log says\n%q, wanted\n%q", got, chain)
	}
	s.pods(t, "none", 0)

	s.must(t, "", "delete", "clusterrolebinding", "alice")
	s.must(t, "", "scale", "deployment", "web", "-n", "shop", "--replicas=2")
	s.pods(t, "web", 2)

	s.must(t, "", "delete", "authoritydelegation", first)
	// Neither controller can create a new pod now, because the stamps name a deleted
	// delegation.
	s.must(t, "", "delete", "pod", "-n", "shop", "-l", "app=web", "--wait=false", "--grace-period=0", "--force")
	s.told(t, "web", "FailedCreate", second)
	s.pods(t, "web", 0)
	s.until(t, "the condition of web", func() (bool, string) {
		out := s.must(t, "", "get", "deployment", "web", "-n", "shop", "-o", "jsonpath={.status.conditions}")
		return strings.Contains(out, "ReplicaFailure") && strings.Contains(out, second), out
	})

	// Carol takes over both deployments: the one whose delegation was deleted, and the one that
	// never had any.
	renew := "deployments.apps" + selection.StampSuffix + "/deployments=renew"
	s.as(t, "carol", "", "annotate", "deployment", "none", "-n", "shop", "--overwrite", renew)
	s.pods(t, "none", 1)
	// The old replica set still names the deleted delegation, so only the new one gets a pod.
	// Pods never become ready here, so the rollout stops after the first pod.
	s.as(t, "carol", "", "annotate", "deployment", "web", "-n", "shop", "--overwrite", renew)
	s.as(t, "carol", "", "rollout", "restart", "deployment", "web", "-n", "shop")
	s.pods(t, "web", 1)
}

// TestCascadeWithdrawn checks the default ifLost, Withdraw: when the author loses its rights,
// controllers create nothing more for it. When the author has the rights again, they go on.
func TestCascadeWithdrawn(t *testing.T) {
	s := newStage(t)
	s.delegate(t, v1alpha1.LossWithdraw)
	s.as(t, "carol", workload("api"), "create", "-f", "-")
	s.pods(t, "api", 1)
	s.must(t, "", "delete", "clusterrolebinding", "carol")
	s.must(t, "", "delete", "pod", "-n", "shop", "-l", "app=api", "--wait=false", "--grace-period=0", "--force")
	s.told(t, "api", "FailedCreate", "carol")
	s.pods(t, "api", 0)
	s.must(t, rights, "apply", "-f", "-")
	s.pods(t, "api", 1)
}
