// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/sudo"
)

// TestListPrintsOneLine holds that the list of tenants has one line for each tenant, by printable
// characters only and within the width of a table, whatever the names in the cluster contain.
func TestListPrintsOneLine(t *testing.T) {
	payload := "\nroot: everything\x1b[2J\u202e" + strings.Repeat("x", 100)
	dir := t.TempDir()
	answer := func(name string, value any) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type object = map[string]any
	answer("whoami", object{"status": object{"userInfo": object{"username": "ada" + payload}}})
	answer("get", object{"items": []object{{
		"metadata": object{"name": "team" + payload},
		"spec":     object{"sudo": object{"allow": []string{"Lists" + payload}}},
		"status":   object{"granted": object{"sudoers": []object{{"kind": "User", "name": "ada"}}}},
	}}})
	answer("create", object{"status": object{"resourceRules": []object{{"verbs": []string{"*"}, "apiGroups": []string{"*"}, "resources": []string{"*"}}}}})
	kubectl := filepath.Join(dir, "kubectl")
	script := "#!/bin/sh\ncase \"$1 $2\" in 'auth can-i') echo yes;; 'auth whoami') cat " + dir + "/whoami;; *) cat " + dir + "/$1;; esac\n"
	if err := os.WriteFile(kubectl, []byte(script), 0o700); err != nil { //nolint:gosec // the test runs it
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args         []string
		lines, width int
	}{{[]string{"-l"}, 3, printing.MaxWidth}, {[]string{"-l", "-o", "wide"}, 2, 1000}, {[]string{"-l", "--output=wide"}, 2, 1000}} {
		var out, errs bytes.Buffer
		if code, err := sudo.Run(t.Context(), kubectl, tc.args, sudo.Streams{In: strings.NewReader(""), Out: &out, ErrOut: &errs}); err != nil || code != 0 {
			t.Fatal(code, err, errs.String())
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != tc.lines || !strings.HasPrefix(lines[0], "TENANT") || !strings.HasPrefix(lines[1], `"team`) {
			t.Errorf("%q printed %q", tc.args, lines)
		}
		if tc.lines == 2 && !strings.Contains(lines[1], strings.Repeat("x", 100)) {
			t.Errorf("%q shortens %q", tc.args, lines)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > tc.width || strings.ContainsFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("%q printed %q", tc.args, line)
			}
		}
	}
}
