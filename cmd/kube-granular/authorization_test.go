// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuthorizationCheckCommand checks what the command prints, and that it fails if a file can't be
// used.
func TestAuthorizationCheckCommand(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"good": "- {type: Node, name: node}\n- {type: RBAC, name: rbac}\n",
		"bad":  "- {type: Magic, name: magic}\n",
		"kubeconfig": `- type: Webhook
  name: hook
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: ` + filepath.Join(dir, "missing") + "}\n",
	}
	for name, authorizers := range files {
		text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n" + authorizers
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		files      []string
		out, fails string
	}{
		"valid":           {files: []string{"good"}, out: "good: valid, 2 authorizers\n"},
		"one is invalid":  {files: []string{"good", "bad"}, out: "good: valid, 2 authorizers\n", fails: `bad: authorizers[0].type: Unsupported value: "Magic"`},
		"no kubeconfig":   {files: []string{"kubeconfig"}, fails: "authorizers[0].connectionInfo.kubeConfigFile: Invalid value"},
		"it is not there": {files: []string{"none"}, fails: "no such file"},
		"no file":         {fails: "requires at least 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"authorization", "check"}
			for _, file := range tc.files {
				args = append(args, filepath.Join(dir, file))
			}
			var out bytes.Buffer
			cmd := newCommand()
			cmd.SetArgs(args)
			cmd.SetOut(&out)
			err := cmd.ExecuteContext(t.Context())
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, wanted one with %q", err, tc.fails)
			}
			if got := strings.ReplaceAll(out.String(), dir+"/", ""); got != tc.out {
				t.Errorf("got %q, wanted %q", got, tc.out)
			}
		})
	}
}
