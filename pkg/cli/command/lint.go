// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/lint"
	"kube-granular.dev/pkg/cli/output"
)

func newLint(s *options) *cobra.Command {
	var format output.Flag
	var stored string
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Look for mistakes in roles, definitions, protected attributes and delegations",
		Long: `Look for mistakes in roles, definitions, protected attributes and delegations, without a server.

In roles, it finds verbs that no field of the resources has, permissions without the verb
granular or get, and permissions for a status or scale on the wrong resource. It does not know
the verbs of custom resources.

In definitions, it finds permissions that the server would refuse, and names without a domain.
Only the server compiles parameter expressions. With --stored, it finds excluded fields that a
definition opens, if it replaces the stored one. Only the server compares types, defaults,
conversions and the keys of lists. In definitions from a cluster, it finds what they exclude less
than the configuration that kubectl applied last: a server without kube-granular drops the
permissions of each definition that it writes.

It compares all roles in the files with all definitions in them. It finds the verb * where a definition
excludes fields, which this verb opens, also in roles from which another role gathers its rules, and
verbs for single conditions that the definition does not tell apart. So give it the roles of the
cluster beside a definition.

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
			cat definition.yaml | kubectl granular lint -

			# Check which roles of the cluster open excluded fields of a definition
			kubectl get clusterroles,roles --all-namespaces -o yaml | kubectl granular lint definition.yaml -

			# Check which definitions of the cluster lost what they excluded
			kubectl get customresourcedefinitions -o yaml | kubectl granular lint -

			# Check whether a new definition opens excluded fields of the stored one
			kubectl get crd robots.factory.example.com -o yaml >stored.yaml
			kubectl granular lint --stored stored.yaml definition.yaml`),
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			all, objects := []lint.Finding{}, 0
			var sources []lint.Source
			var before []byte
			if stored != "" {
				var err error
				if before, err = s.read(stored); err != nil {
					return err
				}
			}
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
					printing.Fprintf(s.streams.ErrOut,
						"%s: nothing was checked: it has no role, definition, protected attribute, delegation or delegation policy\n", name)
				}
				opened, err := lint.Openings(name, data, before)
				if err != nil {
					return err
				}
				all, objects = append(append(all, found...), opened...), objects+looked
				sources = append(sources, lint.Source{Name: name, Data: data})
			}
			together, err := lint.Together(sources)
			if err != nil {
				return err
			}
			all = append(all, together...)
			err = format.Print(s.streams.Out, all, func(out *printing.Page) error {
				for _, f := range all {
					printing.Fprintf(out, "%s\n", f)
				}
				return nil
			})
			if err != nil {
				return err
			}
			printing.Fprintf(s.streams.ErrOut, "%d objects, %d findings\n", objects, len(all))
			for _, f := range all {
				if f.Level == lint.Error {
					return ErrNo
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&stored, "stored", "", "a file with the stored definitions, to compare with")
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
