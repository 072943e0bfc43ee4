// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package sudo_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"kube-granular.dev/tenancy/internal/create"
	"kube-granular.dev/tenancy/internal/lns"
	"kube-granular.dev/tenancy/internal/sudo"
)

// TestWrongUsage checks that all plugins answer wrong flags and arguments in the same way: the exit code 1, what is wrong, and
// the command that shows the usage; nothing is sent, and nothing is printed on standard output.
func TestWrongUsage(t *testing.T) {
	for typed, want := range map[string]string{
		"sudo":                             "want the COMMAND of kubectl that sudo runs, or -l; kubectl sudo --help",
		"sudo --reason":                    "--reason needs a value; kubectl sudo --help",
		"sudo --nonsense get pods":         "--nonsense is not a flag of sudo; flags of the command must follow the command; kubectl sudo --help",
		"sudo -l -o json":                  "-o json: the only format of kubectl sudo -l is wide; flags of a command must follow the command; kubectl sudo --help",
		"sudo sudo get pods":               "the command is already kubectl sudo; kubectl sudo --help",
		"sudo --shell tcsh":                `--shell "tcsh": want bash, zsh or fish; kubectl sudo --help`,
		"sudo request -n a --for x":        `--for "x": want a time of whole seconds, such as 1h or 30m; kubectl sudo request --help`,
		"sudo request -n a --for 1h":       "--reason: say why, for those who approve and for the audit log; kubectl sudo request --help",
		"sudo request a -n a":              `unknown command "a" for "kubectl sudo request"; kubectl sudo request --help`,
		"sudo requests -n a --until 1h":    "unknown flag: --until; kubectl sudo requests --help",
		"sudo requests -n a -o xml":        `--output "xml": want wide, json or yaml; kubectl sudo requests --help`,
		"sudo approve -n a":                "accepts 1 arg(s), received 0; kubectl sudo approve --help",
		"sudo deny a b -n a":               "accepts 1 arg(s), received 2; kubectl sudo deny --help",
		"lns add a users":                  "want the NAME of an LNamespace, a list, and who; kubectl lns add --help",
		"lns add a users b --until 1":      `--until "1": want a time with a time zone, such as 2026-12-31T17:00:00Z, or a time from now, such as 8h; kubectl lns add --help`,
		"lns remove a users b --until 1":   "unknown flag: --until; kubectl lns remove --help",
		"lns nonsense":                     `unknown command "nonsense" for "kubectl lns"; kubectl lns --help`,
		"create":                           "accepts 1 arg(s), received 0; kubectl create lns --help",
		"create a --owner b":               "unknown flag: --owner; kubectl create lns --help",
		"create a --user serviceaccount:x": `"serviceaccount:x": want serviceaccount:NAMESPACE:NAME; kubectl create lns --help`,
	} {
		words := strings.Fields(typed)
		out, code, err := bytes.Buffer{}, 0, error(nil)
		switch words[0] {
		case "sudo":
			code, err = sudo.Run(t.Context(), "no-such-kubectl", words[1:], sudo.Streams{Out: &out, ErrOut: io.Discard})
		default:
			cmd := create.NewCommand("no-such-kubectl")
			if words[0] == "lns" {
				cmd = lns.NewCommand()
			}
			cmd.SetArgs(words[1:])
			cmd.SetOut(&out)
			cmd.SetErr(io.Discard)
			if err = cmd.ExecuteContext(t.Context()); err != nil {
				code = 1
			}
		}
		if err == nil || err.Error() != want+" shows the usage" || code != 1 || out.Len() > 0 {
			t.Errorf("%s: exit code %d: %v: %s", typed, code, err, out.String())
		}
	}
}

// TestHelpOfRequests checks that the help names the commands as people type them.
func TestHelpOfRequests(t *testing.T) {
	out := bytes.Buffer{}
	code, err := sudo.Run(t.Context(), "no-such-kubectl", []string{"request", "--help"}, sudo.Streams{Out: &out, ErrOut: io.Discard})
	if code != 0 || err != nil || !strings.Contains(out.String(), "kubectl sudo request [flags]") {
		t.Errorf("%d, %v, %s", code, err, out.String())
	}
}
