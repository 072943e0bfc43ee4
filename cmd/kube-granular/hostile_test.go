// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAuditChainOfHostileText holds that a log with hostile names, verbs, reasons and paths adds no
// row and no record to any output, and that JSON and YAML have the names unchanged.
func TestAuditChainOfHostileText(t *testing.T) {
	for _, payload := range []string{"\n- auditID: x\n", "\r\x1b[2J", "\u202e\u2028", "   200\t", "\x7f\u0085"} {
		event := map[string]any{
			"kind": "Event", "apiVersion": "audit.k8s.io/v1", "auditID": "id" + payload, "stage": "ResponseComplete", "verb": "get" + payload, "requestURI": "/x" + payload,
			"user": map[string]any{"username": "root" + payload, "uid": "u" + payload}, "impersonatedUser": map[string]any{"username": "jane" + payload}, "userAgent": "agent" + payload,
			"requestReceivedTimestamp": "2026-11-23T08:00:00Z", "responseStatus": map[string]any{"code": 200, "message": payload},
			"objectRef":   map[string]any{"resource": "pods" + payload, "namespace": "shop" + payload, "name": "web" + payload, "apiGroup": "g" + payload, "subresource": "s" + payload},
			"annotations": map[string]any{"authority.kube-granular.dev/refused": "why" + payload, "authority.kube-granular.dev/chain": fmt.Sprintf(`[{"via":"Delegation","by":%q,"name":"d","until":"u"}]`, "alice")},
		}
		line, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(log, append(line, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"table", "wide", "json", "yaml"} {
			var out, errs bytes.Buffer
			cmd := newCommand()
			cmd.SetArgs([]string{"audit", "chain", log, "-o", format})
			cmd.SetOut(&out)
			cmd.SetErr(&errs)
			if err := cmd.ExecuteContext(t.Context()); err != nil || errs.Len() > 0 {
				t.Fatal(err, errs.String())
			}
			for _, r := range out.String() {
				if r != '\n' && !strconv.IsPrint(r) {
					t.Errorf("-o %s: %q is printed in %q", format, r, out.String())
				}
			}
			if format == "table" || format == "wide" {
				rows, _ := strings.CutSuffix(out.String(), "Texts with … are shortened; -o wide shows them whole.\n")
				if strings.Count(rows, "\n") != 2 {
					t.Errorf("-o %s: %q", format, out.String())
				}
				continue
			}
			var got struct {
				Items []struct {
					AuditID string
					Caller  struct{ Name string }
				}
			}
			if err := yaml.Unmarshal(out.Bytes(), &got); err != nil || len(got.Items) != 1 || got.Items[0].AuditID != "id"+payload || got.Items[0].Caller.Name != "jane"+payload {
				t.Errorf("-o %s: %v, %q\n%s", format, err, got, out.String())
			}
		}
	}
}
