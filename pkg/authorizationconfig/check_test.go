// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
)

const kubeconfig = `{"apiVersion":"v1","kind":"Config","current-context":"w","contexts":[{"name":"w","context":{"cluster":"w","user":"w"}}],
"clusters":[{"name":"w","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"w","user":{}}]}`

// TestCheck checks that all errors are reported with the file and the field, and that a valid
// configuration is accepted.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(good, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing")
	const (
		cheap = "has(request.resourceAttributes) && request.groups.exists(g, g == 'admins')"
		twice = "request.groups.exists(a, request.groups.exists(b, a + b == 'never'))"
		costs = "request.groups.exists(a, request.groups.exists(b, request.groups.exists(c, a + b + c == 'never')))"
		fails = "request.nonResourceAttributes.path == '/'"
	)
	upstream := errors.New("authorizers: Required value")
	for _, tc := range []struct {
		name string
		// of has the webhooks: for each its kubeconfig, or "" for the type InClusterConfig, and
		// its match conditions.
		of   [][]string
		err  error
		says []string
	}{
		{"nothing is wrong", [][]string{{good, cheap, twice}}, nil, nil},
		{"no webhook", nil, nil, nil},
		{"a condition that fails for the question", [][]string{{good, fails}}, nil, nil},
		{"upstream's error", nil, upstream, []string{"authorizers: Required value"}},
		{"a kubeconfig", [][]string{{missing, cheap}}, nil,
			[]string{"authorizers[1].connectionInfo.kubeConfigFile", missing}},
		{"no kubeconfig", [][]string{{"", cheap}}, nil,
			[]string{`authorizers[1].connectionInfo.type: Unsupported value: "InClusterConfig"`}},
		{"a condition", [][]string{{good, cheap, costs}}, nil,
			[]string{"authorizers[1].matchConditions[1].expression", "exceeds the cost limit"}},
		{"all", [][]string{{missing, costs}, {good, costs}}, nil, []string{
			"authorizers[1].connectionInfo.kubeConfigFile", "authorizers[1].matchConditions[0].expression", "authorizers[2].matchConditions[0].expression",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := &apiserverapi.AuthorizationConfiguration{Authorizers: []apiserverapi.AuthorizerConfiguration{{Type: "RBAC", Name: "rbac"}}}
			for _, w := range tc.of {
				webhook := &apiserverapi.WebhookConfiguration{ConnectionInfo: apiserverapi.WebhookConnectionInfo{Type: "KubeConfigFile", KubeConfigFile: &w[0]}}
				if w[0] == "" {
					webhook.ConnectionInfo = apiserverapi.WebhookConnectionInfo{Type: "InClusterConfig"}
				}
				for _, expression := range w[1:] {
					webhook.MatchConditions = append(webhook.MatchConditions, apiserverapi.WebhookMatchCondition{Expression: expression})
				}
				config.Authorizers = append(config.Authorizers, apiserverapi.AuthorizerConfiguration{Type: "Webhook", Webhook: webhook})
			}
			if tc.err != nil {
				config = nil
			}
			err := Checks{}.Check("a/file", config, tc.err)
			if (err == nil) != (tc.says == nil) {
				t.Fatalf("got %v, wanted %q", err, tc.says)
			}
			for _, what := range tc.says {
				if !strings.HasPrefix(err.Error(), "--authorization-config a/file: ") || !strings.Contains(err.Error(), what) {
					t.Errorf("%q is not in %v", what, err)
				}
			}
			if tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("%v is not %v", err, tc.err)
			}
		})
	}
}
