// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func mustEnsure(t *testing.T, dir string, now time.Time) (*Authority, Files) {
	t.Helper()
	a, files, err := ensure(dir, at(now))
	if err != nil {
		t.Fatal(err)
	}
	return a, files
}

func TestPermissions(t *testing.T) {
	// Ensure must restrict the mode of an existing directory before it writes a key there.
	dir := filepath.Join(t.TempDir(), "pki")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a, _ := mustEnsure(t, dir, time.Now())
	if _, _, err := a.Client("alice"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: mode %v, error %v; want 0700", info.Mode().Perm(), err)
	}
	keys, err := filepath.Glob(filepath.Join(dir, "*.key"))
	if err != nil || len(keys) != 4 {
		t.Fatalf("keys: got %d, error %v; want 4: authority, server, service accounts, alice", len(keys), err)
	}
	for _, key := range keys {
		info, err := os.Stat(key)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, want 0600", filepath.Base(key), info.Mode().Perm())
		}
	}
}

func TestCertificatesSayWhatTheyShould(t *testing.T) {
	a, files := mustEnsure(t, t.TempDir(), time.Now())
	roots, err := certutil.NewPool(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := certutil.CertsFromFile(files.ServingCert)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "::1", "localhost", "kubernetes.default.svc"} {
		if _, err := serving[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("serving certificate for %s: %v", host, err)
		}
	}
	if _, err := serving[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: "example.com"}); err == nil {
		t.Error("serving certificate is good for example.com")
	}

	certPEM, _, err := a.Client("alice", "readers")
	if err != nil {
		t.Fatal(err)
	}
	client, err := certutil.ParseCertsPEM(certPEM)
	if err != nil {
		t.Fatal(err)
	}
	if got := client[0].Subject; got.CommonName != "alice" || len(got.Organization) != 1 || got.Organization[0] != "readers" {
		t.Errorf("client certificate: subject %v", got)
	}
	opts := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := client[0].Verify(opts); err != nil {
		t.Errorf("client certificate: %v", err)
	}
	opts.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if _, err := client[0].Verify(opts); err == nil {
		t.Error("a client certificate can serve")
	}
}

func TestReuseAndRenewal(t *testing.T) {
	start := time.Now()
	names := []string{"ca.crt", "kube-apiserver.crt", "service-accounts.key", "client-alice.crt"}
	for _, tc := range []struct {
		name   string
		later  time.Duration
		groups []string
		anew   map[string]bool
	}{
		{name: "at once", groups: []string{"readers"}},
		{name: "well before the end", later: leafLifetime - renewBefore - time.Hour, groups: []string{"readers"}},
		{name: "leaves near the end", later: leafLifetime - renewBefore + time.Hour, groups: []string{"readers"},
			anew: map[string]bool{"kube-apiserver.crt": true, "client-alice.crt": true}},
		{name: "authority near the end", later: caLifetime - renewBefore + time.Hour, groups: []string{"readers"},
			anew: map[string]bool{"ca.crt": true, "kube-apiserver.crt": true, "client-alice.crt": true}},
		{name: "another group", groups: []string{"writers"}, anew: map[string]bool{"client-alice.crt": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			before := contents(t, dir, names, start, "readers")
			after := contents(t, dir, names, start.Add(tc.later), tc.groups...)
			for _, name := range names {
				if anew := !bytes.Equal(before[name], after[name]); anew != tc.anew[name] {
					t.Errorf("%s: issued anew %v, want %v", name, anew, tc.anew[name])
				}
			}
		})
	}
}

func contents(t *testing.T, dir string, names []string, now time.Time, groups ...string) map[string][]byte {
	t.Helper()
	a, _ := mustEnsure(t, dir, now)
	if _, _, err := a.Client("alice", groups...); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	return files
}

func TestDamageIsNotOverwritten(t *testing.T) {
	for _, tc := range []struct {
		name   string
		file   string
		damage string
		want   string
	}{
		{"certificate", "ca.crt", "rubbish", `certificate "ca"`},
		{"key", "kube-apiserver.key", "rubbish", `certificate "kube-apiserver"`},
		{"key of another certificate", "kube-apiserver.key", "ca.key", "the key is not the certificate's"},
		{"service account key", "service-accounts.key", "rubbish", "service account key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			mustEnsure(t, dir, time.Now())
			damage := []byte(tc.damage)
			if other, err := os.ReadFile(filepath.Join(dir, tc.damage)); err == nil {
				damage = other
			}
			path := filepath.Join(dir, tc.file)
			if err := os.WriteFile(path, damage, 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := Ensure(dir)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got error %v, want one with %q", err, tc.want)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, damage) {
				t.Error("the damaged file was overwritten")
			}
		})
	}
}

// TestNamesStayInside checks that the name of a user chooses no file outside the directory.
//
// Attack: a test of roles is for the user x/../../victim, so that the certificate of the user overwrites a file elsewhere
// Answer: what a file name can't have is escaped
func TestNamesStayInside(t *testing.T) {
	dir := t.TempDir()
	a, _, err := Ensure(filepath.Join(dir, "pki"))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"x/../../victim", "x/../ca", "../../victim", "/victim", "a/b", "..", "system:kube-scheduler"} {
		certificate, _, err := a.Client(user)
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		if parsed, err := certutil.ParseCertsPEM(certificate); err != nil || parsed[0].Subject.CommonName != user {
			t.Errorf("the certificate of %s is of another user: %v", user, err)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "pki", "ca.crt")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the certificate of the authority is another one: %v", err)
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if relative, _ := filepath.Rel(dir, path); relative != "." && relative != "pki" && filepath.Dir(relative) != "pki" {
			t.Errorf("%s is outside the directory", relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
