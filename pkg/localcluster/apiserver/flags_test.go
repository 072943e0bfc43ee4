// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"kube-granular.dev/pkg/localcluster/pki"
)

func TestFeatureGates(t *testing.T) {
	for _, tc := range []struct {
		name string
		user map[string]bool
		want string
	}{
		{"on by default", nil, "GranularAuthorization=true"},
		{"merged", map[string]bool{"AllAlpha": false, "X": true}, "AllAlpha=false,GranularAuthorization=true,X=true"},
		{"turned off", map[string]bool{"GranularAuthorization": false}, "GranularAuthorization=false"},
		{"turned off with the component's name", map[string]bool{"kube:GranularAuthorization": false},
			"kube:GranularAuthorization=false"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := featureGates(tc.user); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func testConfig(t *testing.T) Config {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return Config{
		Listener:    l,
		EtcdServers: []string{"http://127.0.0.1:1", "http://127.0.0.1:2"},
		Files:       pki.Files{CA: "/ca", ServingCert: "/crt", ServingKey: "/key"},
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Config)
		got    func(*options.ServerRunOptions) any
		want   any
	}{
		{
			name: "RBAC unless told otherwise",
			got:  func(s *options.ServerRunOptions) any { return s.Authorization.Modes },
			want: []string{"RBAC"},
		},
		{
			name:   "an authorization configuration stands alone",
			change: func(c *Config) { c.AuthorizationConfig = "/authz.yaml" },
			got: func(s *options.ServerRunOptions) any {
				return []any{s.Authorization.AuthorizationConfigurationFile, len(s.Authorization.Modes)}
			},
			want: []any{"/authz.yaml", 0},
		},
		{
			name:   "the user's flag replaces ours",
			change: func(c *Config) { c.ExtraArgs = []string{"--service-account-issuer=https://example.com"} },
			got:    func(s *options.ServerRunOptions) any { return s.Authentication.ServiceAccounts.Issuers },
			want:   []string{"https://example.com"},
		},
		{
			name:   "underscores are as good as dashes",
			change: func(c *Config) { c.ExtraArgs = []string{"--service_cluster_ip_range", "10.1.0.0/24"} },
			got:    func(s *options.ServerRunOptions) any { return s.ServiceClusterIPRanges },
			want:   "10.1.0.0/24",
		},
		{
			name: "etcd",
			got:  func(s *options.ServerRunOptions) any { return s.Etcd.StorageConfig.Transport.ServerList },
			want: []string{"http://127.0.0.1:1", "http://127.0.0.1:2"},
		},
		{
			name:   "audit",
			change: func(c *Config) { c.AuditLog, c.AuditPolicy = "/audit.log", "/policy.yaml" },
			got: func(s *options.ServerRunOptions) any {
				return []string{s.Audit.LogOptions.Path, s.Audit.PolicyFile}
			},
			want: []string{"/audit.log", "/policy.yaml"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig(t)
			if tc.change != nil {
				tc.change(&c)
			}
			s, err := c.parse()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tc.got(s)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s.SecureServing.Listener != c.Listener {
				t.Error("the server would not listen on the listener it was given")
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"another address", []string{"--bind-address=0.0.0.0"}, "loopback only"},
		{"another port", []string{"--secure-port=1"}, "use --port"},
		{"another etcd", []string{"--etcd-servers=http://127.0.0.1:2379"}, "use --etcd-servers in front of --"},
		{"another serving certificate", []string{"--tls-cert-file=/x"}, "--tls-cert-file cannot be given"},
		{"an unknown flag", []string{"--no-such-flag"}, "no-such-flag"},
		{"no flag", []string{"up"}, `"up" is not a flag`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig(t)
			c.ExtraArgs = tc.args
			_, err := c.parse()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestUsesRBAC(t *testing.T) {
	file := func(authorizers string) []string {
		path := filepath.Join(t.TempDir(), "authz.yaml")
		config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n" + authorizers
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		return []string{"--authorization-config=" + path}
	}
	for _, tc := range []struct {
		name string
		args []string
		want bool
	}{
		{"by default", nil, true},
		{"among other modes", []string{"--authorization-mode=Node,RBAC"}, true},
		{"not asked for", []string{"--authorization-mode=AlwaysDeny"}, false},
		{"in a chain", file("- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n"), true},
		{"in no chain", file("- {type: Node, name: node}\n"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig(t)
			c.ExtraArgs = tc.args
			s, err := c.parse()
			if err != nil {
				t.Fatal(err)
			}
			got, err := usesRBAC(s.Authorization)
			if err != nil || got != tc.want {
				t.Errorf("got %v, error %v; want %v", got, err, tc.want)
			}
		})
	}
}
