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

// Usage is what the plugin says of itself.
const Usage = `Run a kubectl command with one role or delegation, and nothing else of what you have.

Usage:
  kubectl with [--reason TEXT] AUTHORITY COMMAND [flags]

AUTHORITY is one of
  clusterrole/NAME        what this role gives you, everywhere or by namespace
  role/NAMESPACE/NAME     what this role gives you in its namespace
  delegation/NAME         what somebody delegated to you; also delegation/uid:UID
  '{"authorityReference":…}'  the value of the header Authority-Selector

TEXT is why, for the audit log of the server.

COMMAND is any command of kubectl itself, with its flags. Plugins are none: they would
send requests of their own, which select nothing. The server must have the feature gate
SelectedAuthority; if it does not apply the selection, nothing is sent to it. Commands that
are answered by a node can't be verified and fail: exec, attach, cp and port-forward.

Examples:
  # Look around without being able to change anything
  kubectl with clusterrole/view get pods --all-namespaces

  # See what is left to you
  kubectl with clusterrole/view auth can-i --list --namespace shop

  # Deploy by the role of the namespace alone
  kubectl with role/shop/deployer apply -f web.yaml

  # A proxy for programs that know nothing of selections
  kubectl with clusterrole/view proxy
`

// ErrHelp is returned where somebody asks how to use the plugin.
var ErrHelp = errors.New("help was asked for")

// Invocation is what follows kubectl with.
type Invocation struct {
	Authority *selection.SelectedAuthority
	// Reason is why, or empty.
	Reason string
	// Command is what kubectl is to do.
	Command []string
}

// Parse takes apart what follows kubectl with.
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
		return nil, errors.New("the authority and a command are missing; see kubectl with --help")
	case strings.HasPrefix(args[0], "-"):
		return nil, fmt.Errorf("%s: the authority comes first, and flags of kubectl after it", args[0])
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

// Kubectl returns kubectl's command, of which every request selects an authority. The
// command line is that of the process: kubectl's own files of preferences change it.
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
