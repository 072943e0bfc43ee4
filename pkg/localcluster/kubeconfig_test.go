// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/pkg/localcluster/pki"
)

func TestKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	authority, _, err := pki.Ensure(filepath.Join(dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	a := kubeconfigs{dir: dir, url: "https://127.0.0.1:1234", authority: authority}
	// If the file already exists with a mode that lets anybody read it, the new file must not have
	// that mode.
	if err := os.WriteFile(a.path("robot"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.byCertificate("alice", "readers"); err != nil {
		t.Fatal(err)
	}
	if err := a.byToken("robot", "t0ken"); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "robot"} {
		t.Run(user, func(t *testing.T) {
			info, err := os.Stat(filepath.Join(dir, user+".kubeconfig"))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, want 0600", info.Mode().Perm())
			}
			c, err := clientcmd.BuildConfigFromFlags("", a.path(user))
			if err != nil {
				t.Fatal(err)
			}
			if c.Host != a.url || string(c.CAData) != string(authority.CertificatePEM()) {
				t.Errorf("host %q with a certificate authority of %d bytes; want %q with the cluster's own", c.Host, len(c.CAData), a.url)
			}
			if user == "robot" {
				if c.BearerToken != "t0ken" || len(c.CertData) != 0 {
					t.Error("want the token and no certificate")
				}
			} else if _, err := tls.X509KeyPair(c.CertData, c.KeyData); err != nil || c.BearerToken != "" {
				t.Errorf("client certificate: %v; want a pair and no token", err)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
