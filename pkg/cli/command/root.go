// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/version"

	"kube-granular.dev/pkg/cli/kinds"
)

// ErrNo is returned by a command whose answer is no. The command has then printed its result
// already, so the process exits with 1 and without a message, as kubectl auth can-i does.
var ErrNo = errors.New("no")

// options are the flags and streams of the plugin.
type options struct {
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
}

// New returns the command kubectl-granular.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	s := &options{flags: genericclioptions.NewConfigFlags(true), streams: streams}
	// The limits are higher than client-go's defaults, because a command reads many schemas and
	// sends many access reviews.
	s.flags = s.flags.WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 100, 200
		return c
	})
	cmd := &cobra.Command{
		Use:   "kubectl-granular",
		Short: "Show, check and grant permissions of single fields",
		Long: `Show, check and grant permissions of single fields.

A server that authorizes single fields requires a verb for each changed field, such as
granular:replicas or granular:label(example.com). These commands show which field has
which verb and who holds it, and make roles that grant it.

Nothing is written to the cluster without --apply.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl granular"},
		Version:       version.Get().GitVersion,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		Run:           func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	s.flags.AddFlags(cmd.PersistentFlags())
	s.completeFlags(cmd)
	cmd.AddCommand(newExplain(s), newVerbs(s), newCanI(s), newWhoCan(s), newRole(s), newReport(s), newMatrix(s), newExplainDenial(s), newLint(s))
	cmd.SetVersionTemplate("{{.Version}}\n")
	cmd.SetFlagErrorFunc(usageError)
	for _, c := range append(cmd.Commands(), cmd) {
		valid := c.Args
		if valid == nil {
			continue
		}
		c.Args = func(c *cobra.Command, args []string) error {
			if err := valid(c, args); err != nil {
				return usageError(c, err)
			}
			return nil
		}
	}
	return cmd
}

// usageError returns the error for wrong flags or arguments, with the next step.
func usageError(c *cobra.Command, err error) error {
	return fmt.Errorf("%w; %s --help shows the usage", err, c.CommandPath())
}

// cluster returns the kinds of the server.
func (s *options) cluster() (*kinds.Cluster, error) {
	client, err := s.flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return kinds.New(client, mapper), nil
}

// indentExamples indents the examples of --help.
func indentExamples(text string) string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		line = strings.TrimSpace(line)
		if line != "" {
			line = "  " + line
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
