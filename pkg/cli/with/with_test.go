// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package with

import (
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAuthority(t *testing.T) {
	for text, want := range map[string]string{
		"clusterrole/view":                `{"authorityReference":{"kind":"ClusterRole","name":"view"}}`,
		"ClusterRole/system:basic-user":   `{"authorityReference":{"kind":"ClusterRole","name":"system:basic-user"}}`,
		"role/shop/deployer":              `{"authorityReference":{"kind":"Role","namespace":"shop","name":"deployer"}}`,
		"delegation/alice-to-ci":          `{"authorityReference":{"kind":"AuthorityDelegation","name":"alice-to-ci"}}`,
		"authoritydelegation/alice-to-ci": `{"authorityReference":{"kind":"AuthorityDelegation","name":"alice-to-ci"}}`,
		"delegation/uid:0d1c-7":           `{"authorityReference":{"kind":"AuthorityDelegation","uid":"0d1c-7"}}`,
		`{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"u"}}`: `{"authorityReference":{"kind":"AuthorityDelegation","name":"d","uid":"u"}}`,
	} {
		s, err := Authority(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := s.Text(); err != nil || got != want {
			t.Errorf("%s: %s, error %v, wanted %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                     "is not an authority",
		"view":                 "is not an authority",
		"user/jane":            "is not an authority",
		"clusterrole":          "name is missing",
		"clusterrole/":         "name is missing",
		"clusterrole/a/b":      "not a valid name",
		"role/deployer":        "name is missing",
		"role//deployer":       "namespace",
		"role/shop/a/b":        "not a valid name",
		"delegation/":          "name or uid",
		"delegation/uid:":      "name or uid",
		`{"kind":"Pod"}`:       "kind must be",
		`{"authorityReference`: "unexpected end",
	} {
		if s, err := Authority(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, error %v, wanted one with %q", text, s, err, says)
		}
	}
}

func TestWithArguments(t *testing.T) {
	for typed, want := range map[string]string{
		"clusterrole/view get pods":                 "get pods",
		"clusterrole/view -- get pods":              "get pods",
		"clusterrole/view kubectl get pods":         "get pods",
		"clusterrole/view exec p -- kubectl get":    "exec p -- kubectl get",
		"clusterrole/view --namespace shop get pod": "--namespace shop get pod",
		"--reason t-1 clusterrole/view get pods":    "get pods because t-1",
		"--reason=t-1 clusterrole/view get pods":    "get pods because t-1",
	} {
		got, err := Parse(strings.Fields(typed))
		if err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		said := strings.Join(got.Command, " ")
		if got.Reason != "" {
			said += " because " + got.Reason
		}
		if got.Authority.AuthorityReference.Name != "view" || said != want {
			t.Errorf("%s: %+v", typed, got)
		}
	}
	for typed, says := range map[string]string{
		"":                                     "name a role or a delegation, and a command",
		"get pods":                             "is not an authority",
		"--context=prod clusterrole/view get":  "must follow the authority",
		"clusterrole/view":                     "command of kubectl is missing",
		"clusterrole/view kubectl":             "command of kubectl is missing",
		"clusterrole/view with role/a/b get":   "only one",
		"--reason":                             "must not be empty",
		"--reason= clusterrole/view get":       "must not be empty",
		"--reason t-1":                         "name a role or a delegation, and a command",
		"--reason a\x01b clusterrole/view get": "printable characters",
		"--reason " + strings.Repeat("x", 257): "must not be longer",
	} {
		if got, err := Parse(strings.Fields(typed)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, error %v, wanted one with %q", typed, got, err, says)
		}
	}
	for _, help := range []string{"-h", "--help", "help"} {
		if _, err := Parse([]string{help}); !errors.Is(err, ErrHelp) {
			t.Error(help, err)
		}
	}
}

// TestNoPlugins holds that no command starts a plugin of kubectl, because the requests of a plugin
// would not have the selection.
func TestNoPlugins(t *testing.T) {
	s, err := Authority("clusterrole/view")
	if err != nil {
		t.Fatal(err)
	}
	cmd := Kubectl(s, "", genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	for _, name := range []string{"sudo", "with", "create-lns"} {
		if found, _, err := cmd.Find([]string{name}); err == nil && found != cmd {
			t.Errorf("%s is a command", name)
		}
	}
}
