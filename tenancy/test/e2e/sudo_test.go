// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/tenancy/internal/names"
)

// newUser creates a user with a client certificate by hack/new-user.sh. The test signs the
// certificate, because these clusters have no controller manager that would sign it.
func (c *cluster) newUser(t *testing.T, name string, groups ...string) {
	t.Helper()
	signed := make(chan error, 1)
	go func() { signed <- c.sign(t) }()
	cmd := exec.Command(filepath.Join(c.root, "tenancy", "hack", "new-user.sh"), append([]string{name, filepath.Join(c.dir, name+".kubeconfig")}, groups...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.dir, "KUBECONFIG="+filepath.Join(c.dir, "admin.kubeconfig"), "PATH="+filepath.Join(c.root, "bin")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := <-signed; err != nil {
		t.Fatal(err)
	}
}

// TestNewUserRefusesNames checks that new-user.sh refuses names that would add something to the
// configuration of the certificate request, and names that are reserved. The script refuses them before
// it sends anything; for the other names it then fails to reach a server.
//
// Attack: the name of a user or a group has a line break, and adds a group to the certificate
// Was: got through
// Answer: the script ends with an error
func TestNewUserRefusesNames(t *testing.T) {
	for name, refused := range map[string]bool{
		"ada": false, "ada@example.com": false, "oidc:ada_b.c-1": false,
		"ada\n1.O = system:masters": true, "ada\\n": true, "ada b": true, "": true, "a=b": true, "$x": true, "system:x": true, "lnamespace:crew:ada": true,
	} {
		for _, args := range [][]string{{name}, {"ada", "", name}} {
			config := filepath.Join(t.TempDir(), "config")
			args = append([]string{args[0], config}, args[min(len(args), 2):]...)
			cmd := exec.CommandContext(t.Context(), filepath.Join(shared.root, "tenancy", "hack", "new-user.sh"), args...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"), "PATH="+filepath.Join(shared.root, "bin")+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if said := strings.Contains(string(out), "is a reserved") || strings.Contains(string(out), "consists of letters"); err == nil || said != refused {
				t.Errorf("%q: %v: %s", args, err, out)
			}
		}
	}
}

// sign waits for the next certificate signing request that is approved, and signs it.
func (c *cluster) sign(t *testing.T) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	pair := [2]*pem.Block{}
	for i, name := range []string{"ca.crt", "ca.key"} {
		text, err := os.ReadFile(filepath.Join(c.dir, "pki", name))
		if err != nil {
			return err
		}
		pair[i], _ = pem.Decode(text)
	}
	ca, err := x509.ParseCertificate(pair[0].Bytes)
	if err != nil {
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(pair[1].Bytes)
	if err != nil {
		if key, err = x509.ParseECPrivateKey(pair[1].Bytes); err != nil {
			return err
		}
	}
	watch, err := client.CertificatesV1().CertificateSigningRequests().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		request, ok := event.Object.(*certificatesv1.CertificateSigningRequest)
		if !ok || len(request.Status.Conditions) == 0 || len(request.Status.Certificate) > 0 {
			continue
		}
		block, _ := pem.Decode(request.Spec.Request)
		csr, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return err
		}
		der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: csr.Subject,
			NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, ca, csr.PublicKey, key.(crypto.Signer))
		if err != nil {
			return err
		}
		request.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		_, err = client.CertificatesV1().CertificateSigningRequests().UpdateStatus(t.Context(), request, metav1.UpdateOptions{})
		return err
	}
	return fmt.Errorf("the watch ended")
}

// TestPlugins runs the plugins kubectl create lns and kubectl sudo as users with client
// certificates.
func TestPlugins(t *testing.T) {
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	c := newCluster(t, "default", "--audit-log", auditLog)
	c.run(t)
	for name, groups := range map[string][]string{"ada": nil, "bob": nil, "olga": {"ops"}} {
		c.newUser(t, name, groups...)
	}
	c.allowed(t, "ada", nil, "create", "lnamespaces", "", "")
	must, mustFail := c.commands(t)
	must("ada", "lnamespace.tenancy.kube-granular.dev/crew created", "create", "lns", "crew", "--user", "ada", "--manager", "ada", "--sudoer", "ada", "--sudoer", "group:ops", "--billing", "4711")
	must("ada", "condition met", "wait", "--for=condition=Ready", "--timeout=60s", "lns/crew")
	c.allowed(t, "ada", nil, "impersonate", "groups", "", names.SudoGroup("crew"))
	c.allowed(t, "ada", nil, "create", "deployments", "crew", "")
	c.allowed(t, "x", []string{names.SudoGroup("crew")}, "create", "roles", "crew", "")

	must("ada", "configmap/a created", "create", "configmap", "a", "-n", "crew")
	mustFail("ada", "forbidden", "create", "role", "r", "--verb=get", "--resource=pods", "-n", "crew")
	must("ada", "role.rbac.authorization.k8s.io/r created", "sudo", "--reason", "TICKET-1", "create", "role", "r", "--verb=get", "--resource=pods", "-n", "crew")
	must("ada", "r ", "sudo", "kubectl", "get", "roles", "-n", "crew") // as after the expansion of !!
	must("ada", "patched", "sudo", "patch", "lns", "crew", "--type=merge", "-p", `{"spec":{"billing":{"account":"4712"}}}`)
	mustFail("ada", "spec.sudoers needs the verb", "sudo", "patch", "lns", "crew", "--type=merge", "-p", `{"spec":{"sudoers":[]}}`)
	mustFail("ada", "forbidden", "sudo", "-n", "crew", "delete", "namespace", "crew")
	mustFail("ada", `ada is no sudoer of "kube-system"`, "sudo", "get", "secrets", "-n", "kube-system")
	must("ada", "crew     everything in the namespace   group lnamespace:crew-sudoers", "sudo", "-l")
	// A member of a group uses sudo as the user that all groups and service accounts share.
	must("olga", "r ", "sudo", "get", "roles", "-n", "crew")
	mustFail("olga", "forbidden", "get", "secrets", "-n", "crew")
	// A user who is not a sudoer gets an error that states this.
	mustFail("bob", `bob is no sudoer of "crew"`, "sudo", "get", "pods", "-n", "crew")
	must("bob", "bob is a sudoer of no tenant", "sudo", "-l")
	mustFail("bob", "forbidden", "--as=bob", "--as-group="+names.SudoGroup("crew"), "get", "secrets", "-n", "crew")

	// A second tenant, in which Bob is the only sudoer.
	must("bob", "created", "create", "lns", "other", "--sudoer", "bob")
	must("bob", "condition met", "wait", "--for=condition=Ready", "--timeout=60s", "lns/other")
	c.allowed(t, "bob", nil, "impersonate", "groups", "", names.SudoGroup("other"))
	c.allowed(t, "x", []string{names.SudoGroup("other")}, "list", "secrets", "other", "")
	must("bob", "No resources found", "--as="+names.SudoerUser("other", "bob"), "--as-group="+names.SudoGroup("other"), "get", "secrets", "-n", "other")
	mustFail("ada", "forbidden", "--as="+names.SudoerUser("crew", "ada"), "--as-group="+names.SudoGroup("other"), "get", "secrets", "-n", "other")
	mustFail("ada", "forbidden", "--as="+names.SudoerUser("crew", "ada"), "--as-group="+names.SudoGroup("crew"), "--as-group="+names.SudoGroup("other"), "get", "secrets", "-n", "crew")
	mustFail("ada", "forbidden", "--as="+names.SudoerUser("crew", "ada"), "--as-group="+names.SudoGroup("crew"), "--as-group=system:masters", "get", "secrets", "-n", "crew")
	mustFail("ada", "forbidden", "--as="+names.SudoerUser("crew", "bob"), "--as-group="+names.SudoGroup("crew"), "get", "secrets", "-n", "crew")

	reason := false
	text, err := os.ReadFile(auditLog)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bytes.Split(text, []byte("\n")) {
		event := struct {
			User             struct{ Username string }
			ImpersonatedUser struct {
				Groups []string
				Extra  map[string][]string
			}
			ObjectRef struct{ Resource, Name string }
		}{}
		if len(line) > 0 && json.Unmarshal(line, &event) == nil && event.ObjectRef.Resource == "roles" && event.User.Username == "ada" &&
			fmt.Sprint(event.ImpersonatedUser.Extra) == "map[sudo-reason:[TICKET-1]]" {
			reason = true
		}
	}
	if !reason {
		t.Error("the audit log does not hold the reason")
	}
	// The function ksudo for each shell.
	for _, shell := range []string{"bash", "zsh", "fish"} {
		must("ada", "ksudo", "sudo", "--shell", shell)
	}
	// A command is refused, and then ksudo runs it again with sudo. Fish keeps no history without a
	// terminal, so script(1) provides one.
	for shell, run := range map[string][]string{"bash": {"bash", "-i"}, "zsh": {"zsh", "-i"}, "fish": {"script",
		"-qec", "fish -i", "/dev/null"}} {
		_, missing := exec.LookPath(shell)
		path, err := exec.LookPath(run[0])
		if missing != nil || err != nil {
			t.Logf("%s is not installed: its function was not run", shell)
			continue
		}
		function, err := c.kubectl("ada", "sudo", "--shell", shell)
		if err != nil {
			t.Fatal(err)
		}
		history := map[string]string{"bash": "set -o history\n"}[shell]
		home := t.TempDir()
		// If this folder exists, fish does not generate completions, which would go on after the test.
		if err := os.MkdirAll(filepath.Join(home, ".local", "share", "fish", "generated_completions"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(path, run[1:]...)
		cmd.Dir = t.TempDir()
		cmd.Stdin = strings.NewReader(history + function + "kubectl create role " + shell + " --verb=get --resource=pods -n crew\nksudo\nexit\n")
		cmd.Env = append(os.Environ(), "HOME="+home, "TERM=dumb", "KUBECONFIG="+filepath.Join(c.dir, "ada.kubeconfig"), "PATH="+filepath.Join(c.root, "bin")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), "forbidden") || !strings.Contains(string(out), "io/"+shell+" created") {
			t.Errorf("ksudo in %s: %v: %s", shell, err, out)
		}
	}
}
