// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package with

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/cmd"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/api/selection/transport"
)

// Usage is the help text of the plugin.
const Usage = `Run a kubectl command with the permissions of one role or delegation only.

Usage:
  kubectl with [--reason TEXT] AUTHORITY COMMAND [flags]

AUTHORITY is one of
  clusterrole/NAME        what this role gives you, everywhere or by namespace
  role/NAMESPACE/NAME     what this role gives you in its namespace
  delegation/NAME         what somebody delegated to you; also delegation/uid:UID
  '{"authorityReference":…}'  the value of the header Authority-Selector

TEXT is the reason, for the audit log of the server.

COMMAND is a built-in command of kubectl, with its flags. Plugins can't be used: they would
send requests of their own, without the selection. The server must have the feature gate
SelectedAuthority; if it does not apply the selection, the command is not sent.

Examples:
  # Read without being able to change anything
  kubectl with clusterrole/view get pods --all-namespaces

  # List the permissions that remain
  kubectl with clusterrole/view auth can-i --list --namespace shop

  # Deploy with only the role of the namespace
  kubectl with role/shop/deployer apply -f web.yaml

  # A shell, which ends with the delegation
  kubectl with delegation/shell-of-web exec -it web -- sh

  # A proxy for programs that cannot select an authority
  kubectl with clusterrole/view proxy
`

// ErrHelp is returned if the arguments ask for help.
var ErrHelp = errors.New("help was asked for")

// Invocation has the arguments of kubectl with.
type Invocation struct {
	Authority *selection.SelectedAuthority
	// Reason is the reason for the audit log, or empty.
	Reason string
	// Command is the kubectl command with its arguments.
	Command []string
}

// Parse parses the arguments of kubectl with.
func Parse(args []string) (*Invocation, error) {
	out := &Invocation{}
	if len(args) > 0 && (args[0] == "--reason" || strings.HasPrefix(args[0], "--reason=")) {
		_, reason, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			reason, args = args[0], args[1:]
		}
		if err := selection.CheckReason(reason); err != nil {
			return nil, fmt.Errorf("--reason: %w", err)
		}
		out.Reason = reason
	}
	switch {
	case len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "help"):
		return nil, ErrHelp
	case len(args) == 0:
		return nil, errors.New(`name a role or a delegation, and a command; for help run "kubectl with --help"`)
	case strings.HasPrefix(args[0], "-"):
		return nil, fmt.Errorf("%s: flags of kubectl must follow the authority", args[0])
	}
	s, err := Authority(args[0])
	if err != nil {
		return nil, err
	}
	command := args[1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) > 0 && filepath.Base(command[0]) == "kubectl" {
		command = command[1:]
	}
	if len(command) == 0 {
		return nil, errors.New("a command of kubectl is missing; see kubectl with --help")
	}
	if command[0] == "with" {
		return nil, errors.New("only one authority can be selected")
	}
	out.Authority, out.Command = s, command
	return out, nil
}

// Kubectl returns the kubectl command with a client that selects a role or delegation in each
// request. The arguments of the command are os.Args, because the code for kubectl's preference file
// (kuberc) reads and changes them there.
func Kubectl(s *selection.SelectedAuthority, reason string, streams genericiooptions.IOStreams) *cobra.Command {
	wrap := transport.Because(reason, s)
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().
		WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWarningPrinter(streams).
		WithWrapConfigFn(func(c *rest.Config) *rest.Config {
			c.Wrap(wrap)
			return c
		})
	return cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{ConfigFlags: flags, IOStreams: streams})
}
