// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"kube-granular.dev/test/integration/harness"
)

// TestTenancyEndsWithTheCluster checks that the controller of tenants runs in a process of its
// own beside the cluster. It must end when the cluster is stopped or killed, and start again
// with the same directory.
func TestTenancyEndsWithTheCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	for i, end := range []func(p *process){
		func(p *process) {
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.exited
		},
		func(p *process) { p.stop(syscall.SIGTERM) },
	} {
		p := launch(t, dir, "--port", "0", "--demo=false", "--tenancy")
		kubectl := func(args ...string) string {
			t.Helper()
			out, err := exec.Command(binary(t, "kubectl"), append([]string{"--kubeconfig", filepath.Join(dir, "admin.kubeconfig"), "--cache-dir", filepath.Join(dir, "cache")}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("kubectl %q: %v: %s", args, err, out)
			}
			return string(out)
		}
		name := []string{"first", "second"}[i]
		create := exec.Command(binary(t, "kubectl"), "--kubeconfig", filepath.Join(dir, "admin.kubeconfig"), "create", "-f", "-")
		create.Stdin = strings.NewReader("{apiVersion: tenancy.kube-granular.dev/v1alpha1, kind: LNamespace, metadata: {name: " + name + "}, spec: {users: [{name: u}]}}")
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		kubectl("wait", "--for=condition=Ready", "--timeout=60s", "lns", "--all")
		url := kubectl("get", "validatingwebhookconfiguration", "lnamespace", "-o", "jsonpath={.webhooks[0].clientConfig.url}")
		address := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/lists")
		if !strings.HasPrefix(address, "127.0.0.1:") {
			t.Errorf("webhooks at %s", url)
		}
		if !answers(address) {
			t.Error("nobody answers at " + address)
		}
		for _, a := range listening(t, p.cmd.Process.Pid) {
			if a == address {
				t.Error("the webhooks are in the process of the server")
			}
		}
		end(p)
		deadline := time.Now().Add(stopTimeout)
		for answers(address) {
			if time.Now().After(deadline) {
				t.Fatalf("the controller goes on without its cluster (%s)", name)
			}
		}
	}
}

// TestTenancySudo checks how sudoers of a local cluster use sudo: by a delegation if the server serves delegations, and
// otherwise by impersonation. A restart with other gates changes the way, and leaves nothing of the old one.
func TestTenancySudo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	for i, gates := range []string{"SelectedAuthority=true,AuthorityDelegation=true", "SelectedAuthority=true,AuthorityDelegation=false",
		"kube:GranularAuthorization=true,kube:SelectedAuthority=true,kube:AuthorityDelegation=true"} {
		p := launch(t, dir, "--port", "0", "--demo=false", "--tenancy", "--feature-gates", gates)
		kubectl := func(input string, args ...string) (string, error) {
			place := []string{"--kubeconfig", filepath.Join(dir, "admin.kubeconfig"), "--cache-dir", filepath.Join(dir, "cache")}
			cmd := exec.Command(binary(t, "kubectl"), append(place, args...)...)
			cmd.Stdin = strings.NewReader(input)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		const tenant = "{apiVersion: tenancy.kube-granular.dev/v1alpha1, kind: LNamespace, metadata: {name: tenant}, spec: {sudoers: [{name: u}]}}"
		if out, err := kubectl(tenant, "apply", "-f", "-"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		byDelegation, impersonates := i != 1, "no"
		if !byDelegation {
			impersonates = "yes"
		}
		harness.Until(t, "sudo is as the gates say: "+gates, func() bool {
			named, _ := kubectl("", "get", "lns", "tenant", "-o", "jsonpath={.status.delegations[0].subject.name}")
			may, _ := kubectl("", "auth", "can-i", "impersonate", "groups/lnamespace:tenant-sudoers", "--as", "u")
			return (named == "u") == byDelegation && strings.HasSuffix(strings.TrimSpace(may), impersonates)
		})
		p.stop(syscall.SIGTERM)
	}
}

// answers reports whether a process listens at an address.
func answers(address string) bool {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}
