// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// page returns the commands in a section of docs/tenancy-backup.md.
func (c *cluster) page(t *testing.T, section string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.root, "docs", "tenancy-backup.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	var commands string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		commands += block[1]
	}
	if !found || commands == "" {
		t.Fatalf("the page shows no commands in the section %s", section)
	}
	return commands
}

// shell runs commands in a folder, as an administrator.
func (c *cluster) shell(dir, commands string) (string, error) {
	bin := filepath.Join(c.root, "bin")
	cmd := exec.Command("bash", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "KUBECONFIG="+filepath.Join(c.dir, "admin.kubeconfig"), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRestoreOfThePage follows docs/tenancy-backup.md after somebody deleted the definition of LNamespaces by accident: it runs the
// commands of the page.
//
// Attack: a person creates an LNamespace with the name of an existing namespace, or with a refused name, and waits for a restore
// Was: got through, she had sudo in the namespace
// Answer: the page's commands hand over what was the tenant's, and refuse the rest with the reason
// Held by: TestRestore
// Attack: after the deletion, a person creates the LNamespace of another tenant before the restore does
// Was: got through
// Answer: refused, naming the field that is not as in the backup
func TestRestoreOfThePage(t *testing.T) {
	c := newCluster(t, "default", "--feature-gates", "GranularAuthorization=false")
	k := c.run(t)
	kept, taken := c.make(t, tenant("restored")), c.make(t, tenant("restored-taken"))
	mallory := c.as(t, "mallory")
	hers := func(name string) *v1alpha1.LNamespace {
		lns := tenant(name)
		lns.Spec = v1alpha1.LNamespaceSpec{Users: []v1alpha1.Subject{user("mallory")}, Sudoers: []v1alpha1.Subject{user("mallory")}}
		return lns
	}
	create(t, c.client, namespaceOf("argocd"), namespaceOf("planted"))
	for name, reason := range map[string]string{"argocd": "NamespaceNotOurs", "planted": "NamespaceNotOurs", "com": "NameRefused"} {
		lns := hers(name)
		create(t, mallory, lns)
		c.waitReason(t, lns, reason)
	}
	dir := t.TempDir()
	if out, err := c.shell(dir, "set -e\n"+c.page(t, "Backup")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	// The accident.
	if out, err := c.kubectl("admin", "delete", "validatingadmissionpolicybinding", "lnamespace-definition"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.eventually(t, "admin", "deleted", "delete", "crd", names.Definition, "--wait=false")
	wait(t, "the definition is gone", func() error {
		out, err := c.kubectl("admin", "get", "crd", names.Definition)
		if err != nil && strings.Contains(out, "NotFound") {
			return nil
		}
		return errStill(out)
	})
	if err := k.stop(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{kept.Name, taken.Name} {
		c.refused(t, name+"-user", nil, "create", "deployments", name, "")
	}
	if out, err := c.kubectl("admin", "get", "namespace", kept.Name, taken.Name); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := c.shell(dir, "tenancy-controller install"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.run(t)
	wait(t, "she creates it first", func() error { return mallory.Create(t.Context(), hers(taken.Name)) })

	out, err := c.shell(dir, c.page(t, "Restore"))
	if err == nil {
		t.Errorf("nothing was refused: %s", out)
	}
	for _, want := range []string{"namespace/restored adopted", "1 adopted, 4 refused",
		"namespace/restored-taken refused: somebody created the LNamespace with another spec.users than in the backup",
		"namespace/argocd refused: in the backup, it had no namespace", "namespace/planted refused", "namespace/com refused"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	c.allowed(t, kept.Name+"-user", nil, "create", "deployments", kept.Name, "")
	c.allowed(t, kept.Name+"-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(kept.Name))
	for _, name := range []string{taken.Name, "argocd", "planted", "com"} {
		c.refused(t, "mallory", nil, "create", "deployments", name, "")
		c.refused(t, "mallory", nil, "impersonate", "groups", "", names.SudoGroup(name))
	}
	c.refused(t, "mallory", nil, "create", "lnamespaces", "", "")
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "com"}, namespaceOf("com")); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace com: %v", err)
	}
	// An administrator who creates all LNamespaces of the backup allows no name by that.
	if out, err := c.shell(dir, "kubectl create -f tenants.yaml"); err == nil {
		t.Errorf("all were created: %s", out)
	}
	com := tenant("com")
	c.waitReason(t, com, "NameRefused")
	c.refused(t, "mallory", nil, "create", "deployments", "com", "")
	// The twin: she removes her LNamespace, and the rest is restored.
	if err := c.client.Delete(t.Context(), hers(taken.Name)); err != nil {
		t.Fatal(err)
	}
	c.gone(t, hers(taken.Name))
	if out, err := c.shell(dir, c.page(t, "Restore")); err == nil || !strings.Contains(out, "namespace/restored-taken adopted") ||
		!strings.Contains(out, "namespace/restored adopted already") {
		t.Errorf("%v: %s", err, out)
	}
	c.allowed(t, taken.Name+"-user", nil, "create", "deployments", taken.Name, "")
}

// errStill is an error that says what is still there.
type errStill string

func (e errStill) Error() string { return "still there: " + string(e) }
