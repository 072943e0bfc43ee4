// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/kinds"
)

// ErrNo is what a command returns whose answer is no, and which has said so already. The
// process ends with 1, as that of kubectl auth can-i does.
var ErrNo = errors.New("no")

// options is what one run of the plugin shares.
type options struct {
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
}

// New returns the command kubectl-granular.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	s := &options{flags: genericclioptions.NewConfigFlags(true), streams: streams}
	// Schemas and access reviews follow each other closely.
	s.flags = s.flags.WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = 100, 200
		return c
	})
	cmd := &cobra.Command{
		Use:   "kubectl-granular",
		Short: "See, ask and grant permissions of single fields",
		Long: `See, ask and grant permissions of single fields.

A server that authorizes single fields asks for a verb where a field changes, such as
granular:replicas or granular:label(example.com). These commands show which field has
which verb, who holds them, and make the roles that grant them.

Nothing is written to the cluster but with --apply.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl granular"},
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
	return cmd
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

// indentExamples indents examples, for --help.
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
