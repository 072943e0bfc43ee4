// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("authz.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Options{Dir: "c", AuthorizationConfig: "authz.yaml", AuditLog: "audit.log"}.complete()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct{ what, got, want string }{
		{"dir", got.Dir, filepath.Join(cwd, "c")},
		{"authorization config", got.AuthorizationConfig, filepath.Join(cwd, "authz.yaml")},
		{"audit log", got.AuditLog, filepath.Join(cwd, "audit.log")},
	} {
		if p.got != p.want {
			t.Errorf("%s: got %q, want %q", p.what, p.got, p.want)
		}
	}
	got, err = Options{Dir: "c", AuditLog: "-"}.complete()
	if err != nil || got.AuditLog != "-" {
		t.Errorf("audit log: got %q, error %v; want - for standard output, as kube-apiserver has it", got.AuditLog, err)
	}
}

func TestCompleteRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"negative port", Options{Dir: "c", Port: -1}, "--port -1"},
		{"port too high", Options{Dir: "c", Port: 65536}, "--port 65536"},
		{"no directory", Options{}, "--dir"},
		{"etcd without a scheme", Options{Dir: "c", EtcdServers: []string{"127.0.0.1:2379"}}, "--etcd-servers"},
		{"no such authorization config", Options{Dir: "c", AuthorizationConfig: "/no/such/file"},
			"--authorization-config"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.o.complete()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestDisplay(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(cwd, "a", "b"):       "a/b",
		filepath.Join(cwd, "..b"):          "..b",
		filepath.Join(cwd, "..", "sister"): filepath.Join(cwd, "..", "sister"),
		"/elsewhere":                       "/elsewhere",
	} {
		if got := relativePath(path); got != want {
			t.Errorf("display(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"bin/kubectl":           "bin/kubectl",
		".kube-granular/x_1.kc": ".kube-granular/x_1.kc",
		"my dir/kubectl":        "'my dir/kubectl'",
		"it's":                  `'it'\''s'`,
		"$HOME":                 "'$HOME'",
		"":                      "''",
	} {
		if got := quote(word); got != want {
			t.Errorf("quote(%q) = %s, want %s", word, got, want)
		}
	}
}
