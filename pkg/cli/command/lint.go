// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kube-granular.dev/pkg/cli/lint"
	"kube-granular.dev/pkg/cli/output"
)

func newLint(s *options) *cobra.Command {
	var format output.Flag
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Look for mistakes in roles, definitions, protected attributes and delegations",
		Long: `Look for mistakes in roles, definitions, protected attributes and delegations, without a server.

In roles, it finds verbs that no field of the resources has, permissions without the verb
granular or get, and permissions for a status or scale on the wrong resource. It does not know
the verbs of custom resources.

In definitions, it finds permissions that the server would refuse, and names without a domain.
Only the server compiles parameter expressions.

In protected attributes, delegations and delegation policies, it finds everything that the server
would refuse, except wrong types in conditions and wrong permissions in the field neutral of a
policy, which only the server knows. In the rules of a delegation or policy, it finds the same
mistakes as in roles.

Each finding is printed as file:line:column. The exit code is 1 if one of them is an error.`,
		Example: indentExamples(`
			# Check a role (this one has mistakes)
			kubectl granular lint role.yaml

			# Check a delegation (this one has mistakes)
			kubectl granular lint delegation.yaml

			# Check a definition from another command
			cat definition.yaml | kubectl granular lint -`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			all, objects := []lint.Finding{}, 0
			for _, name := range args {
				data, err := s.read(name)
				if err != nil {
					return err
				}
				found, looked, err := lint.File(name, data)
				if err != nil {
					return err
				}
				if looked == 0 {
					fmt.Fprintf(s.streams.ErrOut, "%s: nothing was checked: it has no role, definition, protected attribute, delegation or delegation policy\n", name)
				}
				all, objects = append(all, found...), objects+looked
			}
			err := format.Print(s.streams.Out, all, func(out io.Writer) error {
				for _, f := range all {
					fmt.Fprintln(out, f)
				}
				return nil
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(s.streams.ErrOut, "%d objects, %d findings\n", objects, len(all))
			for _, f := range all {
				if f.Level == lint.Error {
					return ErrNo
				}
			}
			return nil
		},
	}
	format.AddTo(cmd)
	return cmd
}

// read returns the content of a file, or of standard input for "-".
func (s *options) read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(s.streams.In)
	}
	return os.ReadFile(name)
}
