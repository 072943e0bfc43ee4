// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package cascade

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	authority "kube-granular.dev/api/client/clientset/versioned"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/controllers"
	"kube-granular.dev/test/integration/harness"
)

// rights are those of alice and of carol, who may delegate what they may.
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
- {apiGroups: [""], resources: [pods], verbs: [create, patch, delete]}
- {apiGroups: [authority.kube-granular.dev], resources: [authoritydelegations], verbs: [create, delegate]}
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

// workload is a deployment whose controllers act by the delegations of its author.
func workload(name, of string) string {
	annotations := ""
	if of != "" {
		annotations = fmt.Sprintf(`, annotations: {%[1]sDeployment: %[2]s-to-deployments, %[1]sReplicaSet: %[2]s-to-replicasets}`, actsBy, of)
	}
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: shop%[2]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: c, image: i}]}}
`, name, annotations)
}

// stage is a server with the two controllers, which have no right to make anything.
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

// strip takes from a bootstrap role all rights on a resource but reading.
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
	out, err := harness.Kubectl(t, s.Cluster, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %q: %v: %s", args, err, out)
	}
	return out
}

func (s *stage) until(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		ok, is := done()
		last = is
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s never came: %s\n%s", what, last, s.must(t, "", "get", "events", "-n", "shop"))
	}
}

// pods waits until a deployment has as many pods.
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

// delegate makes the chain from an author to the controllers: what a policy would make when
// the deployment is created. What becomes of it when the author loses rights is up to keep.
func (s *stage) delegate(t *testing.T, author string, keep v1alpha1.LossPolicy) {
	t.Helper()
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	pods := rule("", "pods", "create", "patch", "delete")
	for _, d := range []struct {
		to    string
		rules []rbacv1.PolicyRule
		keep  v1alpha1.LossPolicy
		under string
	}{
		{"deployment", []rbacv1.PolicyRule{rule("apps", "replicasets", "create", "update", "patch", "delete"), pods, rule("authority.kube-granular.dev", "authoritydelegations", "create")}, keep, ""},
		{"replicaset", []rbacv1.PolicyRule{pods}, v1alpha1.LossWithdraw, author + "-to-deployments"},
	} {
		config, ctx := harness.Config(t, s.Cluster, "admin"), t.Context()
		config.Impersonate.UserName = author
		if d.under != "" {
			config = rest.CopyConfig(s.accounts["deployment-controller"])
			ctx = transport.With(ctx, &selection.SelectedAuthority{AuthorityReference: selection.AuthorityReference{Kind: selection.AuthorityDelegationKind, Name: d.under}})
		}
		config.Wrap(transport.New)
		client, err := authority.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		obj := &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: author + "-to-" + d.to + "s"}, Spec: v1alpha1.AuthorityDelegationSpec{
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "kube-system", Name: d.to + "-controller"}},
			Rules:     d.rules, Scope: v1alpha1.DelegationScope{Cluster: true}, IfLost: d.keep,
		}}
		var failed error
		err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, failed = client.AuthorityV1alpha1().AuthorityDelegations().Create(ctx, obj, metav1.CreateOptions{})
			return failed == nil, nil
		})
		if err != nil {
			t.Fatalf("%s: %v", obj.Name, failed)
		}
	}
}

// chainOf returns who took part in the creation of pods, by the audit log.
func (s *stage) chainOf(t *testing.T) []string {
	t.Helper()
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "kube-granular"), "audit", "chain", s.log, "--resource", "pods", "-n", "shop", "-o", "json").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var list struct {
		Items []struct {
			Verb   string
			Code   int
			Origin string
			Caller struct{ Name string }
			Chain  []struct{ Via, By, Name string }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
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

// TestCascade holds that a deployment's pods are made by the authority that its author
// delegated to the deployment controller, and this one to the replica set controller; that
// they go on to be when the author has lost its rights, as it said; and that nothing is made
// once the delegation is deleted, or without one, and the events say why.
//
// Attack: controllers asked to make what nobody delegated, or whose delegation is gone
// Answer: 403, nothing is made
func TestCascade(t *testing.T) {
	s := newStage(t)
	s.delegate(t, "alice", v1alpha1.LossKeep)
	s.must(t, workload("web", "alice"), "create", "-f", "-")
	s.pods(t, "web", 1)
	const account = "system:serviceaccount:kube-system:"
	// The test's administrator acted as alice.
	chain := "admin: alice by alice-to-deployments, " + account + "deployment-controller by alice-to-replicasets, " + account + "replicaset-controller"
	if got := s.chainOf(t); !slices.Equal(got, []string{chain}) {
		t.Errorf("the log says\n%q, wanted\n%q", got, chain)
	}
	s.must(t, workload("none", ""), "create", "-f", "-")
	s.told(t, "none", "ReplicaSetCreateError", "forbidden")
	s.pods(t, "none", 0)

	s.must(t, "", "delete", "clusterrolebinding", "alice")
	s.must(t, "", "scale", "deployment", "web", "-n", "shop", "--replicas=2")
	s.pods(t, "web", 2)

	s.must(t, "", "delete", "authoritydelegation", "alice-to-deployments")
	// A pod that goes is not made again: both controllers act by what is gone.
	s.must(t, "", "delete", "pod", "-n", "shop", "-l", "app=web", "--wait=false", "--grace-period=0", "--force")
	s.told(t, "web", "FailedCreate", "alice-to-replicasets")
	s.pods(t, "web", 0)
	s.until(t, "the condition of web", func() (bool, string) {
		out := s.must(t, "", "get", "deployment", "web", "-n", "shop", "-o", "jsonpath={.status.conditions}")
		return strings.Contains(out, "ReplicaFailure") && strings.Contains(out, "alice-to-replicasets"), out
	})
}

// TestCascadeWithdrawn holds that where the author did not say otherwise, nothing more is made
// once it has lost its rights, and all goes on when it has them again.
func TestCascadeWithdrawn(t *testing.T) {
	s := newStage(t)
	s.delegate(t, "carol", v1alpha1.LossWithdraw)
	s.must(t, workload("api", "carol"), "create", "-f", "-")
	s.pods(t, "api", 1)
	s.must(t, "", "delete", "clusterrolebinding", "carol")
	s.must(t, "", "delete", "pod", "-n", "shop", "-l", "app=api", "--wait=false", "--grace-period=0", "--force")
	s.told(t, "api", "FailedCreate", "carol")
	s.pods(t, "api", 0)
	s.must(t, rights, "apply", "-f", "-")
	s.pods(t, "api", 1)
}
