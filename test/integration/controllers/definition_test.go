// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/controllers"
	"kube-granular.dev/test/integration/harness"
)

const (
	definition = "crd/lnamespaces.tenancy.kube-granular.dev"
	guard      = "validatingadmissionpolicybinding/lnamespace-definition"
)

// tenancy is a cluster with upstream's garbage collector and namespace controller, in which a test
// starts and stops the controller of tenants.
type tenancy struct {
	*cluster.Cluster
	t       *testing.T
	program string
	running *exec.Cmd
}

// startTenancy starts the cluster, without the controller of tenants.
func startTenancy(t *testing.T) *tenancy {
	t.Helper()
	k := &tenancy{Cluster: harness.Start(t, "--demo=false"), t: t}
	t.Cleanup(k.stop)
	bin, err := cluster.Bin()
	if err != nil {
		t.Fatal(err)
	}
	k.program = filepath.Join(bin, "tenancy-controller")
	if err := controllers.RunCleanup(t.Context(), harness.Config(t, k.Cluster, "admin")); err != nil {
		t.Fatal(err)
	}
	return k
}

// command runs the program of the controller as an administrator.
func (k *tenancy) command(args ...string) (string, error) {
	out, err := exec.CommandContext(k.t.Context(), k.program, append(args, "--kubeconfig", k.Kubeconfig("admin"))...).CombinedOutput()
	return string(out), err
}

// start installs the manifests and starts the controller.
func (k *tenancy) start() {
	k.t.Helper()
	if out, err := k.command("install"); err != nil {
		k.t.Fatalf("install: %v: %s", err, out)
	}
	k.resume()
}

// resume starts the controller with the permissions of its service account.
func (k *tenancy) resume() {
	k.t.Helper()
	token := strings.TrimSpace(must(k.t, k.Cluster, "", "create", "token", "-n", "tenancy-system", "tenancy-controller"))
	file := filepath.Join(k.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(must(k.t, k.Cluster, "", "config", "view", "--raw", "--flatten")), 0o600); err != nil {
		k.t.Fatal(err)
	}
	must(k.t, k.Cluster, "", "config", "set-credentials", "controller", "--kubeconfig", file, "--token", token)
	must(k.t, k.Cluster, "", "config", "set-context", "--current", "--kubeconfig", file, "--user", "controller")
	k.running = exec.Command(k.program, "run", "--kubeconfig", file, "--leader-elect=false", "--metrics-address", "0", "--health-address", "0")
	if err := k.running.Start(); err != nil {
		k.t.Fatal(err)
	}
}

// stop ends the controller.
func (k *tenancy) stop() {
	if k.running == nil {
		return
	}
	_ = k.running.Process.Signal(syscall.SIGTERM)
	_ = k.running.Wait()
	k.running = nil
}

// collected waits until the garbage collector has deleted an object whose owner does not exist: until
// then, it may have other objects before it. Everything of the test that has an owner comes before.
func (k *tenancy) collected(namespace string) {
	k.t.Helper()
	must(k.t, k.Cluster, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":"sentinel",
"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"nobody","uid":"nobody"}]}}`, namespace), "create", "-f", "-")
	harness.UntilSeen(k.t, "the garbage collector works", func() (bool, string) {
		out, err := kubectl(k.t, k.Cluster, "", "get", "configmap", "-n", namespace, "sentinel")
		return err != nil && strings.Contains(out, "NotFound"), out
	})
}

// keeps checks that the namespaces have their contents and are not being deleted.
func (k *tenancy) keeps(names ...string) {
	k.t.Helper()
	for _, name := range names {
		out := must(k.t, k.Cluster, "", "get", "namespace", name, "-o", "jsonpath={.metadata.deletionTimestamp} {.metadata.ownerReferences}")
		if strings.TrimSpace(out) != "" {
			k.t.Errorf("the namespace %s: %s", name, out)
		}
		must(k.t, k.Cluster, "", "get", "configmap", "-n", name, "content")
	}
}

// may waits until the access of a user of the tenant is as wanted.
func (k *tenancy) may(name, want string) {
	k.t.Helper()
	harness.UntilSeen(k.t, fmt.Sprintf("whether a user of %s may create deployments: %s", name, want), func() (bool, string) {
		out, _ := kubectl(k.t, k.Cluster, "", "auth", "can-i", "create", "deployments", "-n", name, "--as", name+"-user")
		return strings.HasSuffix(strings.TrimSpace(out), want), out
	})
}

// deleteDefinition deletes the definition, together with the policy that refuses that.
func (k *tenancy) deleteDefinition() {
	k.t.Helper()
	must(k.t, k.Cluster, "", "delete", guard)
	harness.UntilSeen(k.t, "the definition can be deleted", func() (bool, string) {
		out, err := kubectl(k.t, k.Cluster, "", "delete", definition, "--wait=false")
		return err == nil, out
	})
}

// gone waits until the definition does not exist.
func (k *tenancy) gone() {
	k.t.Helper()
	harness.UntilSeen(k.t, "the definition is gone", func() (bool, string) {
		out, err := kubectl(k.t, k.Cluster, "", "get", definition)
		return err != nil && strings.Contains(out, "NotFound"), out
	})
}

// TestDefinitionIsDeleted deletes the definition of LNamespaces in a cluster with upstream's garbage
// collector and namespace controller. The namespaces of all tenants and their contents must stay.
//
// Attack: somebody deletes the definition of LNamespaces, while the controller runs or not, and the policy that
// refuses that in the same breath
// Was: got through
// Answer: 403 while there are LNamespaces; without the policy, people lose their rights, and the namespaces stay
func TestDefinitionIsDeleted(t *testing.T) {
	k := startTenancy(t)
	k.start()
	prepare := func(names ...string) {
		t.Helper()
		must(t, k.Cluster, tenants(names...), "create", "-f", "-")
		for _, name := range names {
			must(t, k.Cluster, "", "wait", "--for=condition=Ready", "--timeout=60s", "lns/"+name)
			must(t, k.Cluster, "", "create", "configmap", "-n", name, "content")
			k.may(name, "yes")
		}
	}
	prepare("a", "b")
	harness.UntilSeen(t, "the deletion is refused", func() (bool, string) {
		out, err := kubectl(t, k.Cluster, "", "delete", definition, "--dry-run=server")
		return err != nil && strings.Contains(out, "their people would lose all rights"), out
	})
	if out, err := kubectl(t, k.Cluster, "", "delete", definition, "--wait=false"); err == nil {
		t.Fatalf("the definition is deleted: %s", out)
	}
	k.keeps("a", "b")

	// The controller runs.
	k.deleteDefinition()
	k.gone()
	k.collected("a")
	k.keeps("a", "b")
	for _, name := range []string{"a", "b"} {
		k.may(name, "no")
	}

	// The controller is stopped, and starts again after the deletion. Before, an earlier version had
	// made an LNamespace the owner of its namespace.
	k.stop()
	k.start()
	prepare("c", "d")
	k.stop()
	must(t, k.Cluster, "", "delete", "validatingadmissionpolicybinding", "lnamespace-namespaces")
	uid := must(t, k.Cluster, "", "get", "lns", "d", "-o", "jsonpath={.metadata.uid}")
	owned := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"tenancy.kube-granular.dev/v1alpha1","kind":"LNamespace","name":"d","uid":%q}]}}`, uid)
	harness.UntilSeen(t, "the LNamespace owns its namespace", func() (bool, string) {
		out, err := kubectl(t, k.Cluster, "", "patch", "namespace", "d", "--type=merge", "-p", owned)
		return err == nil, out
	})
	k.deleteDefinition()
	harness.UntilSeen(t, "the LNamespaces are being deleted", func() (bool, string) {
		out := must(t, k.Cluster, "", "get", "lns", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")
		return len(strings.Fields(out)) == 2, out
	})
	k.collected("c")
	for _, name := range []string{"c", "d"} {
		must(t, k.Cluster, "", "get", "configmap", "-n", name, "content")
		k.may(name, "yes") // nobody is there to revoke
	}
	k.resume()
	k.gone()
	k.collected("d")
	k.keeps("c", "d")
	for _, name := range []string{"c", "d"} {
		k.may(name, "no")
	}

	// Somebody removes the finalizers by force, while the controller is stopped.
	k.stop()
	k.start()
	prepare("e")
	k.stop()
	k.deleteDefinition()
	must(t, k.Cluster, "", "patch", "lns", "e", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	k.gone()
	k.collected("e")
	k.keeps("a", "b", "c", "d", "e")
}

// TestUninstall runs the command uninstall, without and with the controller. The namespaces of tenants
// stay, people have no rights, and nothing of the controller is left.
//
// Attack: an administrator uninstalls the controller of tenants
// Answer: the namespaces stay with their contents; without a running controller, nothing that revokes rights is
// deleted
func TestUninstall(t *testing.T) {
	k := startTenancy(t)
	k.start()
	must(t, k.Cluster, tenants("a", "b"), "create", "-f", "-")
	for _, name := range []string{"a", "b"} {
		must(t, k.Cluster, "", "wait", "--for=condition=Ready", "--timeout=60s", "lns/"+name)
		must(t, k.Cluster, "", "create", "configmap", "-n", name, "content")
		k.may(name, "yes")
	}
	k.stop()
	if out, err := k.command("uninstall", "--timeout", "3s"); err == nil || !strings.Contains(out, "start the controller") {
		t.Errorf("without the controller: %v: %s", err, out)
	}
	must(t, k.Cluster, "", "get", definition)
	k.start()
	if out, err := k.command("uninstall", "--timeout", "60s"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	k.stop()
	k.gone()
	k.collected("a")
	k.keeps("a", "b")
	for _, name := range []string{"a", "b"} {
		k.may(name, "no")
	}
	for _, what := range []string{"clusterroles,clusterrolebindings,rolebindings -A -l app.kubernetes.io/managed-by=tenancy-controller",
		"validatingadmissionpolicies,mutatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicybindings,clusterroles,clusterrolebindings"} {
		out := must(t, k.Cluster, "", append([]string{"get", "-o", "name", "--ignore-not-found"}, strings.Fields(what)...)...)
		if strings.Contains(out, "lnamespace") || strings.Contains(out, "tenancy-") {
			t.Errorf("%s:\n%s", what, out)
		}
	}
	harness.UntilSeen(t, "the namespace of the controller is gone", func() (bool, string) {
		out, err := kubectl(t, k.Cluster, "", "get", "namespace", "tenancy-system")
		return err != nil, out
	})
}
