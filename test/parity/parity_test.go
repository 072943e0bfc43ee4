// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"flag"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness/controlplane"
)

// TestParity sends the life of an object of each built-in kind to all servers.
func TestParity(t *testing.T) {
	k := newKeys(t)
	k.asking = true
	servers := k.startAll(t, "--runtime-config=api/all=true",
		"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement,AlwaysPullImages")
	tee := newTee(t, servers)
	client{t, tee, []string{owner}}.lives(k.administrator(t, tee.serve(t, k)))
	tee.compareAll()
	compareStorage(t, servers)
	for _, s := range servers[1:] {
		t.Logf("%s asked one more question about %d refused requests", s.name, s.more)
		if gatesOn := s.name == "gates-on"; gatesOn != (s.more > 0) {
			t.Errorf("%s asked one more question about %d refused requests", s.name, s.more)
		}
	}
}

var commands = flag.Bool("commands", false, "also run upstream's tests of kubectl, which take a quarter of an hour")

// TestCommands runs upstream's tests of kubectl, beside upstream's controllers and scheduler. What the tests themselves say
// is logged alone: they are no tests of servers, and some want the network.
func TestCommands(t *testing.T) {
	if !*commands {
		t.Skip("without -commands")
	}
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(root, "upstream", "kubernetes")
	authority := filepath.Join(tree, "hack", "testdata", "ca")
	k := newKeys(t)
	servers := k.startAll(t, "--authorization-mode=RBAC,AlwaysAllow", "--token-auth-file="+filepath.Join(tree, "hack", "testdata", "auth-tokens.csv"),
		"--enable-admission-plugins=LimitRanger,ResourceQuota",
		"--disable-admission-plugins=ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,MutatingAdmissionWebhook,"+
			"ValidatingAdmissionWebhook,StorageObjectInUseProtection")
	tee := newTee(t, servers)
	address, err := url.Parse(tee.serve(t, k))
	if err != nil {
		t.Fatal(err)
	}
	path := k.kubeconfig(t, address.String(), &clientcmdapi.AuthInfo{Token: "admin-token"})
	controlplane.StartManager(t, path, "--cluster-signing-cert-file="+filepath.Join(authority, "ca.crt"),
		"--cluster-signing-key-file="+filepath.Join(authority, "ca.key"), "--kube-api-qps=500", "--kube-api-burst=1000")
	controlplane.StartScheduler(t, path)
	args := append([]string{tree, address.Port(), filepath.Join(root, "bin")}, flag.Args()...)
	script := exec.CommandContext(t.Context(), filepath.Join("testdata", "commands.sh"), args...)
	script.Stdout, script.Stderr = os.Stdout, os.Stderr
	if err := script.Run(); err != nil {
		t.Logf("upstream's tests: %v", err)
	}
	tee.compareAll()
}
