// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/export"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roles"
)

func newExport(s *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what stands in for granular roles on a server that does not authorize fields",
		Long: `Write what stands in for granular roles on a server that does not authorize single fields. It is
weaker than such a server, and says where.`,
		Args: cobra.NoArgs,
		Run:  func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	cmd.AddCommand(newExportPolicies(s))
	return cmd
}

func newExportPolicies(s *options) *cobra.Command {
	var files, subjects []string
	var exported export.Options
	var check string
	cmd := &cobra.Command{
		Use:   "vap -f FILE...",
		Short: "Write granular roles as ValidatingAdmissionPolicies and ordinary roles",
		Long: `Write granular roles as ValidatingAdmissionPolicies and ordinary roles, for a server that does
not authorize single fields, such as that of a managed control plane.

The files have roles, their bindings and, for custom resources, definitions with permissions. For
each resource on which a role has the verb granular, the output has a policy and its binding. The
policy refuses each change of these subjects that the permissions do not cover. The role of the
output has the same name, and update and patch in place of the permissions. The schemas are those
of the server in use, and the permissions of built-in kinds are those of this program.

The files may also have protected attributes, with the bindings of the roles that they name, and
FieldPermissions. Their policies restrict all callers.

This is weaker than a server that authorizes fields. The header of the output says what it can't
hold. If a policy can't express a role, or costs more than a server may spend, the command fails
and writes nothing.

With --check, the command compares the output with a file that it wrote earlier, and prints what
differs; the exit code is then 1. Do that after an upgrade of the server.

Nothing is written to the cluster. Apply the policies before the roles. To run tests of roles
against what an export writes, use kube-granular test --exported.`,
		Example: indentExamples(`
			# Write what stands in for a role and its bindings
			kubectl granular export vap -f painter.yaml >exported.yaml

			# For a role without a binding
			kubectl granular export vap -f scale-only.yaml --subject user:jane

			# Write what stands in for protected attributes
			kubectl granular export vap -f attributes.yaml -f bindings.yaml

			# Check after an upgrade whether to export again
			kubectl granular export vap -f painter.yaml --check exported.yaml`),
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(files) == 0 {
				return errors.New("--filename is needed: a file with roles")
			}
			var err error
			if exported.Subjects, err = roles.ParseSubjects("--subject", subjects); err != nil {
				return err
			}
			return s.exportPolicies(files, check, exported)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil,
		"files with roles, bindings, definitions, protected attributes and FieldPermissions; - is standard input")
	cmd.Flags().StringSliceVar(&subjects, "subject", nil,
		"who has the roles that no binding in the files names: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME")
	cmd.Flags().StringVar(&exported.Name, "name", "", "the beginning of the names of policies; the default is made from the roles")
	cmd.Flags().StringVar(&check, "check", "", "compare with this file of an earlier export instead of printing")
	return cmd
}

// exportPolicies writes the policies of some files, or compares them with an earlier export.
func (s *options) exportPolicies(files []string, check string, exported export.Options) error {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	read := export.NewRoles(namespace)
	if err := s.eachFile(files, read.Add); err != nil {
		return err
	}
	client, err := s.flags.ToDiscoveryClient()
	if err != nil {
		return err
	}
	mapper, err := s.flags.ToRESTMapper()
	if err != nil {
		return err
	}
	server, err := client.ServerVersion()
	if err != nil {
		return err
	}
	// If the server refused the policies of a file, its roles would nevertheless be applied.
	version := admissionv1.SchemeGroupVersion.String()
	if served, err := serves(client, version, "validatingadmissionpolicies"); err != nil {
		return err
	} else if !served {
		return fmt.Errorf("the server has no ValidatingAdmissionPolicies of %s: it is older than v1.30", version)
	}
	stock := export.ClusterKinds{Cluster: kinds.NewStock(client, mapper), Definitions: read.Definitions, Entries: read.Entries()}
	result, err := export.Export(read, stock, exported)
	if err != nil {
		return err
	}
	if check == "" {
		return result.Write(s.streams.Out, "kubectl granular export vap", server.GitVersion)
	}
	data, err := s.read(check)
	if err != nil {
		return err
	}
	different, err := result.Differences(check, data)
	if err != nil {
		return err
	}
	for _, line := range different {
		printing.Fprintf(s.streams.Out, "%s\n", line)
	}
	if len(different) > 0 {
		return ErrNo
	}
	return nil
}
