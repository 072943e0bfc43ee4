// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"kube-granular.dev/tenancy/internal/adopt"
	"kube-granular.dev/tenancy/internal/names"
)

// newRestoreCommand returns the command restore.
func newRestoreCommand() *cobra.Command {
	var files, reserved []string
	var kubeconfig, namespace, output string
	var apply, others bool
	cmd := &cobra.Command{
		Use:   "restore -f FILE",
		Short: "Make the LNamespaces of a backup again, and hand their namespaces over: a plan, then --apply",
		Long: `Make the LNamespaces of a backup again, and hand their namespaces over to them.

Without --apply, the command prints what it would hand over to whom, and what not and why, and changes
nothing. FILE is what "kubectl get lns -o yaml" wrote.

A backup also has LNamespaces that never had a namespace. Everybody may create an LNamespace with the name
of a namespace of others, and it gives no rights. So only an LNamespace is restored whose status in the
backup has the UID of its namespace, and whose namespace exists. If the cluster has the LNamespace already,
it must have the same spec.`,
		Example: `  # What would be handed over to whom?
  tenancy-controller restore -f tenants.yaml

  # Hand it over
  tenancy-controller restore -f tenants.yaml --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apply && cmd.Flags().Changed("output") {
				return errors.New("--output is for the plan, and not for --apply")
			}
			if formats := []string{"table", "wide"}; !slices.Contains(formats, output) {
				return fmt.Errorf("--output %s: want one of %s", output, strings.Join(formats, ", "))
			}
			wishes, err := adopt.Read(files, cmd.InOrStdin())
			if err != nil {
				return err
			}
			api, err := newClient(kubeconfig, rest.NoWarnings{}) // there is one for each namespace that exists
			if err != nil {
				return err
			}
			reserved = append(reserved, namespace)
			plan, err := adopt.Restore(cmd.Context(), api, wishes, adopt.RestoreOptions{
				IsReserved: func(name string) bool { return names.Reserved(name, reserved...) }, OtherNamespaces: others,
			})
			if err != nil {
				return err
			}
			if apply {
				return plan.Apply(cmd.Context(), api, cmd.OutOrStdout())
			}
			return plan.WriteRestore(cmd.OutOrStdout(), output == "wide")
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&files, "filename", "f", nil,
		"file or folder with the LNamespaces of a backup; - is the standard input; can be repeated")
	_ = cmd.MarkFlagRequired("filename")
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use")
	fs.BoolVar(&apply, "apply", false, "make the LNamespaces, and hand the namespaces over to them")
	fs.BoolVar(&others, "restored-namespaces", false,
		"the namespaces were restored too: one with another UID than in the backup needs an annotation with the UID of its LNamespace there")
	fs.StringVarP(&output, "output", "o", "table", "output format of the plan: table, or wide (names all people, and shortens nothing)")
	fs.StringVar(&namespace, "namespace", controllerNamespace, "namespace of the controller, as for run")
	fs.StringSliceVar(&reserved, "reserved", nil, "names that no tenant may have, as for run")
	return cmd
}
