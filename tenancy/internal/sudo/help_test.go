// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/build"
	"kube-granular.dev/tenancy/internal/sudo"
)

// fakeKubectl returns the path of a program in place of kubectl. The caller may impersonate the groups of the
// tenants, and the namespace of its context is default.
func fakeKubectl(t *testing.T, tenants ...string) string {
	t.Helper()
	var items, groups []string
	for _, name := range tenants {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"status":{"granted":{"sudoers":[{"name":"ada"}]}}}`, name))
		groups = append(groups, "groups/lnamespace:"+name+"-sudoers")
	}
	path := filepath.Join(t.TempDir(), "kubectl")
	script := `#!/bin/sh
case "$*" in
*"auth whoami"*) echo '{"status":{"userInfo":{"username":"ada"}}}';;
*"auth can-i"*) case " ` + strings.Join(groups, " ") + ` " in *" $4 "*) echo yes;; *) echo no;; esac;;
*"config view"*) ;;
*"get lnamespaces"*jsonpath*) echo '` + strings.Join(tenants, " ") + `';;
*"get lnamespaces"*ignore-not-found*) ;;
*"get lnamespaces"*) echo '{"items":[` + strings.Join(items, ",") + `]}';;
*create*) echo '{"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}}';;
*__complete*) echo "kubectl $*"; echo :4;;
esac
`
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // the test runs it
		t.Fatal(err)
	}
	return path
}

// TestHint checks that an error about the tenant of the context names those of the caller, and that an
// error about a tenant that the caller named does not.
func TestHint(t *testing.T) {
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("team-%02d", i))
	}
	for name, tc := range map[string]struct {
		tenants []string
		typed   string
		want    string
	}{
		"no namespace":   {[]string{"books", "films"}, "get pods", `the namespace of the context, "default"; it is a sudoer of books, films: name one with -n`},
		"many":           {many, "get pods", "team-08, team-09 and 2 more: name one with -n"},
		"none":           {nil, "get pods", "it is a sudoer of no tenant"},
		"another tenant": {[]string{"books"}, "get pods -n films", ""},
		"an LNamespace":  {[]string{"books"}, "edit lns films", ""},
	} {
		_, err := sudo.Run(t.Context(), fakeKubectl(t, tc.tenants...), strings.Fields(tc.typed), sudo.Streams{})
		if err == nil || !strings.Contains(err.Error(), "ada is no sudoer of") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if hinted := strings.Contains(err.Error(), "; it is a sudoer") || strings.Contains(err.Error(), "name one with -n"); hinted != (tc.want != "") || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHelp checks that --help explains sudo if it stands before the command.
func TestHelp(t *testing.T) {
	for _, typed := range []string{"--help", "-h", "-n team --help get pods"} {
		var out bytes.Buffer
		code, err := sudo.Run(t.Context(), "no-such-kubectl", strings.Fields(typed), sudo.Streams{Out: &out})
		if code != 0 || err != nil || !strings.Contains(out.String(), "\nExamples:\n") || !strings.Contains(out.String(), "--reason TEXT") {
			t.Errorf("%q: %d, %v\n%s", typed, code, err, out.String())
		}
	}
	if a, err := sudo.Parse([]string{"get", "--help"}); err != nil || a.Help {
		t.Errorf("the help of a command: %+v, %v", a, err)
	}
}

// TestVersion checks that --version is a flag of sudo if it stands before the command.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	code, err := sudo.Run(t.Context(), "no-such-kubectl", []string{"--version", "get"}, sudo.Streams{Out: &out})
	if code != 0 || err != nil || out.String() != build.Version()+"\n" {
		t.Errorf("%d, %v: %s", code, err, out.String())
	}
	if a, err := sudo.Parse([]string{"get", "--version"}); err != nil || a.Version {
		t.Errorf("the flag of a command: %+v, %v", a, err)
	}
}

// TestComplete checks what is completed by kubectl sudo itself, and what by kubectl.
func TestComplete(t *testing.T) {
	kubectl := fakeKubectl(t, "books", "films")
	for typed, want := range map[string]string{
		"--re":                               "--reason --request-timeout :4",
		"--shell ":                           "bash zsh fish :4",
		"--shell z":                          "zsh :4",
		"--ver":                              "--version :4",
		"-l -o ":                             "wide :4",
		"-n b":                               "books :4",
		"--reason x --namespace ":            "books films :4",
		"--reason ":                          ":4",
		"get po":                             "kubectl __complete get po :4",
		"--reason x -n books get po":         "kubectl __complete --namespace=books get po :4",
		"--context=c --reason=x get po -n b": "kubectl __complete --context=c get po -n b :4",
		"kubectl get ":                       "kubectl __complete get  :4",
		"get --out":                          "kubectl __complete get --out :4",
	} {
		var out bytes.Buffer
		code, err := sudo.Run(t.Context(), kubectl, append([]string{"__complete"}, strings.Split(typed, " ")...), sudo.Streams{Out: &out})
		if got := strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", " "); code != 0 || err != nil || got != want {
			t.Errorf("%q: %d, %v, %q, wanted %q", typed, code, err, got, want)
		}
	}
}
