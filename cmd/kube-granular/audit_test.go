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

// TestAuditChainCommand holds what the command prints on standard output and on standard error,
// and with which logs and flags it fails.
func TestAuditChainCommand(t *testing.T) {
	const good = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","user":{"username":"root"},"impersonatedUser":{"username":"jane"},"requestReceivedTimestamp":"2026-11-23T08:00:00Z","verb":"get","requestURI":"/healthz","responseStatus":{"code":200}}` + "\n"
	dir := t.TempDir()
	one, broken := filepath.Join(dir, "one.log"), filepath.Join(dir, "broken.log")
	for file, text := range map[string]string{one: good, broken: "x\n" + good} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		args              []string
		rows              int
		fails, complaints string
	}{
		"one log":           {args: []string{one}, rows: 1},
		"two logs":          {args: []string{one, one}, rows: 2},
		"standard input":    {args: []string{"-"}, rows: 1},
		"what is not there": {args: []string{one, "--user", "nobody"}, complaints: "None of 1 events"},
		"a broken log": {args: []string{broken, one}, rows: 2, fails: "1 lines could not be read",
			complaints: "broken.log: line 1"},
		"no such log":        {args: []string{filepath.Join(dir, "none"), one}, rows: 1, fails: "no such file"},
		"no log":             {fails: "requires at least 1 arg"},
		"a bad format":       {args: []string{one, "-o", "xml"}, fails: "--output"},
		"a bad time":         {args: []string{one, "--since", "yesterday"}, fails: `--since: "yesterday"`},
		"a time to come":     {args: []string{one, "--until", "-2h"}, fails: "--until"},
		"since then":         {args: []string{one, "--since", "2026-11-23T08:00:00Z"}, rows: 1},
		"until then, in CET": {args: []string{one, "--until", "2026-11-23T09:00:00+01:00"}, complaints: "None"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := newCommand()
			cmd.SetArgs(append([]string{"audit", "chain"}, tc.args...))
			cmd.SetIn(strings.NewReader(good))
			cmd.SetOut(&out)
			cmd.SetErr(&errs)
			err := cmd.ExecuteContext(t.Context())
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, wanted one with %q", err, tc.fails)
			}
			if rows := strings.Count(out.String(), "jane"); rows != tc.rows || !strings.Contains(errs.String(), tc.complaints) {
				t.Errorf("%d rows, wanted %d; standard error %q, wanted %q", rows, tc.rows, errs.String(), tc.complaints)
			}
		})
	}
}
