// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"strings"
	"testing"
)

// TestConnectionFlags checks which flags a recorded command may not have.
//
// Attack: a rehearsed command has a flag that chooses another server or user, such as -shttp://localhost:8001, and writes there for real
// Answer: each flag of kubectl that chooses one is refused, in each form that kubectl reads
func TestConnectionFlags(t *testing.T) {
	for args, want := range map[string]string{
		"scale deployment web --replicas=3":                              "",
		"-n shop get pods -lapp=shop -o yaml":                            "",
		"--namespace shop --request-timeout=3s --cache-dir x apply -f a": "",
		"create rolebinding a --user=jane --role=b":                      "",
		"patch deployment web -p spec:":                                  "", "logs web -fp": "", "exec web -- curl -s --server x": "",
		"-shttp://localhost:8001 scale": "-s", "scale -s http://localhost": "-s", "-s=http://a scale": "-s", "get pods -As http://a": "-s",
		"run a -itsb": "-s", "--server=x get pods": "--server", "get --server x": "--server", "--token=a get pods": "--token",
		"--as jane get": "--as", "--as-uid=1 get": "--as-uid", "--as-user-extra=a=b get": "--as-user-extra", "--as-group a get": "--as-group",
		"--kubeconfig=a get": "--kubeconfig", "--context a get": "--context", "--cluster a get": "--cluster", "--proxy-url=a get": "--proxy-url",
		"--client-certificate=a get": "--client-certificate", "--client-key=a get": "--client-key", "--username=a get": "--username",
		"patch a --field-manager -- --server=http://a": "--server", "exec -it web -- -s": "", "run a -it -- -s": "", "run a --rm -- -s": "-s",
		"--kuberc=a get":                 "--kuberc",
		"--insecure-skip-tls-verify get": "--insecure-skip-tls-verify", "--tls-server-name=a get": "--tls-server-name",
	} {
		if got := connectionFlag(strings.Fields(args)); got != want {
			t.Errorf("%s: %q, wanted %q", args, got, want)
		}
	}
}
