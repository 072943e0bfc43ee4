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

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
)

// options are the flags and streams of the plugin.
type options struct {
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
	// kinds are those of the server, after the first call of cluster.
	kinds *kinds.Cluster
	// whole is set by wholeCluster.
	whole bool
}

// New returns the command kubectl-granular.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	s := &options{flags: genericclioptions.NewConfigFlags(true), streams: streams}
	// The limits are higher than client-go's defaults, because a command reads many schemas and
	// sends many access reviews.
	s.flags = s.flags.WithDiscoveryBurst(300).WithDiscoveryQPS(50).WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst, c.UserAgent = 100, 200, changes.UserAgent()
		return c
	})
	cmd := &cobra.Command{
		Use:   "kubectl-granular",
		Short: "Show, check and grant permissions of single fields",
		Long: `Show, check and grant permissions of single fields.

A server that authorizes single fields requires a verb for each changed field, such as
granular:replicas or granular:label(example.com). These commands show which field has
which verb and who holds it, and make roles that grant it.

Nothing is written to the cluster without --apply, except by lend.`,
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
	cmd.AddCommand(newExplain(s), newVerbs(s), newCanI(s), newWhoCan(s), newRole(s), newCheck(s), newReport(s), newMatrix(s),
		newExplainDenial(s), newLint(s), newMark(s), newStored(s), newLend(s), newExport(s), newFieldPermission(s), newUI(s))
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

// cluster returns the kinds of the server. The first call prints a line if the server does not authorize
// single fields, before the command prints anything else. If only the gate is off, the line is printed
// to callers that may read the flags of the server, such as administrators.
func (s *options) cluster() (*kinds.Cluster, error) {
	if s.kinds != nil {
		return s.kinds, nil
	}
	c, err := s.quietCluster()
	if err != nil {
		return nil, err
	}
	s.kinds = c
	if err := c.Recognize(); errors.Is(err, kinds.ErrNoPermissions) {
		printing.Fprintf(s.streams.ErrOut, "This server does not authorize single fields: "+
			"it has no patches of kube-granular, or its feature gate GranularAuthorization is off.\n")
	}
	return c, nil
}

// wholeCluster is cluster for answers that would be wrong without the entries of FieldPermissions. It fails if the caller
// may not list them.
func (s *options) wholeCluster() (*kinds.Cluster, error) {
	s.whole = true
	c, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return c, c.ReadEntries()
}

// quietCluster returns the kinds of the server, for completions of the shell.
func (s *options) quietCluster() (*kinds.Cluster, error) { return s.kindsWith(s.entries) }

// kindsWith returns the kinds of the server with some entries.
func (s *options) kindsWith(entries kinds.EntriesReader) (*kinds.Cluster, error) {
	client, err := s.flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return kinds.New(client, mapper, entries), nil
}

// connect returns a client of the server, made for a configuration.
func connect[C any](config func() (*rest.Config, error), client func(*rest.Config) (C, error)) (out C, err error) {
	c, err := config()
	if err != nil {
		return out, err
	}
	return client(c)
}

// eachFile reads files, and calls a function with the content of each.
func (s *options) eachFile(names []string, add func(name string, data []byte) error) error {
	for _, name := range names {
		data, err := s.read(name)
		if err != nil {
			return err
		}
		if err := add(name, data); err != nil {
			return err
		}
	}
	return nil
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
