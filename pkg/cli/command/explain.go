// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/explain"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
)

func newExplain(s *options) *cobra.Command {
	var format output.Flag
	var version string
	var recursive bool
	cmd := &cobra.Command{
		Use:   "explain RESOURCE [FIELD]",
		Short: "Show which verbs cover the fields of a kind",
		Long: `Show which verbs cover the fields of a kind, as a tree.

Each verb is shown as you write it in a role, at the outermost field that it covers. It also
covers all fields inside this field. A parameter is in angle brackets: granular:label(<label-key
prefix>) is granular:label(example.com) for the label example.com/team.

If a field is part of update, a caller that holds create, update or patch needs no other verb
for it. If it is not, every caller needs one of its verbs.

kubectl granular ui -o html writes one page with all kinds of the cluster.`,
		Example: indentExamples(`
			# Which verbs can be granted for deployments
			kubectl granular explain deployments

			# The verbs of one field, including those of the fields around it
			kubectl granular explain deployments spec.template.spec.containers.image

			# Every field inside another, of another version than the server prefers
			kubectl granular explain horizontalpodautoscalers spec --recursive --api-version autoscaling/v1`),
		Args: cobra.MaximumNArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return s.resources(begun), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return s.fields(args[0], begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := validateFormat(&format); err != nil {
				return err
			}
			if len(args) == 0 {
				return errors.New("the resource is missing, such as deployments; kubectl granular ui shows all resources")
			}
			c, err := s.cluster()
			if err != nil {
				return err
			}
			k, path, err := findField(c, args, version)
			if err != nil {
				return err
			}
			explained, err := explain.New(k, path, recursive)
			if err != nil {
				return err
			}
			return format.Print(s.streams.Out, explained, explained.Table)
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringVar(&version, "api-version", "",
		"the group and version of the kind, such as autoscaling/v1; the default is what the server prefers")
	cmd.Flags().BoolVar(&recursive, "recursive", false, "show every field, also fields without a verb of their own")
	return cmd
}

// validateFormat validates the format of a command that once wrote a page of its own.
func validateFormat(format *output.Flag) error {
	if format.Is("html") {
		return errors.New("--output: html is written by kubectl granular ui -o html, for all resources and subjects")
	}
	return format.Validate()
}

// warn prints an error that does not end the command. It prints nothing for nil.
func warn(cmd *cobra.Command, err error) {
	if err != nil {
		printing.Warning(cmd.ErrOrStderr(), err)
	}
}

// findField returns the kind and the field path that the arguments name. Both may be in one
// argument, as in kubectl explain: deployments.spec.replicas.
func findField(c *kinds.Cluster, args []string, version string) (*kinds.Kind, string, error) {
	if len(args) == 2 {
		k, err := c.Lookup(args[0], version)
		return k, args[1], err
	}
	resource, path := args[0], ""
	k, first := c.Lookup(resource, version)
	for err := first; err != nil; {
		dot := strings.LastIndexByte(resource, '.')
		if dot < 0 || errors.Is(err, kinds.ErrNoPermissions) {
			return nil, "", first
		}
		path = strings.TrimSuffix(resource[dot+1:]+"."+path, ".")
		resource = resource[:dot]
		k, err = c.Lookup(resource, version)
		if errors.Is(err, kinds.ErrNoPermissions) {
			first = err
		}
	}
	return k, path, nil
}
