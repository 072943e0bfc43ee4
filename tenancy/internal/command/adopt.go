// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/adopt"
	"kube-granular.dev/tenancy/internal/naming"
)

// newAdoptCommand returns the command adopt.
func newAdoptCommand() *cobra.Command {
	o := adopt.Options{}
	var files []string
	var kubeconfig, namespace, pattern, output string
	var apply, confirm bool
	cmd := &cobra.Command{
		Use:   "adopt -f FILE",
		Short: "Turn existing namespaces into those of tenants: a plan, then --apply, then --confirm",
		Long: `Turn existing namespaces into those of tenants, in two steps.

Without --apply and --confirm, the command prints a plan and changes nothing. FILE names the
namespaces: it has Namespaces, or LNamespaces, whose lists count. For a Namespace without an
LNamespace, the lists come from its RoleBindings.

--apply creates the LNamespaces and hands the namespaces over to them. Nobody loses a right.
--confirm then deletes the old RoleBindings whose subjects have all of their rights by the
tenant. The others stay. Both steps can be repeated: what is done is skipped.`,
		Example: `  # What would happen to the namespaces of a repository?
  tenancy-controller adopt -f clusters/production

  # Write the LNamespaces into a file, look at them, and adopt them
  tenancy-controller adopt -f clusters/production -o lnamespaces > tenants.yaml
  tenancy-controller adopt -f tenants.yaml --apply

  # Delete the bindings that the tenants cover
  tenancy-controller adopt -f tenants.yaml --confirm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if apply && confirm {
				return errors.New("--apply and --confirm are two steps: look at the tenants after --apply, and then run --confirm")
			}
			if (apply || confirm) && cmd.Flags().Changed("output") {
				return errors.New("--output is for the plan, and not for --apply and --confirm")
			}
			if !slices.Contains(adopt.Formats, output) {
				return fmt.Errorf("--output %s: want one of %s", output, strings.Join(adopt.Formats, ", "))
			}
			wishes, err := adopt.Read(files, cmd.InOrStdin())
			if err != nil {
				return err
			}
			o.Names.Reserved = append(o.Names.Reserved, namespace)
			if o.Names.Pattern, err = regexp.Compile(pattern); err != nil {
				return fmt.Errorf("--reserved-pattern: %w", err)
			}
			if pattern == "" {
				o.Names.Pattern = nil
			}
			api, err := newClient(kubeconfig, rest.NoWarnings{}) // there is one for each namespace that exists
			if err != nil {
				return err
			}
			o.Progress = progress(cmd)
			plan, err := adopt.Make(cmd.Context(), api, wishes, o)
			switch {
			case err != nil:
				return err
			case apply:
				return plan.Apply(cmd.Context(), api, cmd.OutOrStdout())
			case confirm:
				return plan.Confirm(cmd.Context(), api, cmd.OutOrStdout())
			}
			return plan.Write(cmd.OutOrStdout(), output)
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&files, "filename", "f", nil,
		"file or folder with Namespaces and LNamespaces; - is the standard input; can be repeated")
	_ = cmd.MarkFlagRequired("filename")
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use")
	fs.BoolVar(&apply, "apply", false, "step 1: create the LNamespaces and hand the namespaces over to them")
	fs.BoolVar(&confirm, "confirm", false, "step 2: delete the old RoleBindings that the tenants cover")
	fs.BoolVar(&o.AcceptMarks, "accept-marks", false,
		"bindings may have labels and annotations of tenants already, such as those of a tenant that was there before")
	fs.BoolVar(&o.SudoCounts, "sudo-counts", false, "a right that people and groups have by sudo covers an old binding, too")
	fs.StringVarP(&output, "output", "o", "table",
		"output format of the plan: table, wide (shortens nothing), json, yaml, or lnamespaces (the LNamespaces alone)")
	fs.StringSliceVar(&o.Users, "users-from", []string{"edit", "admin"},
		"ClusterRoles whose subjects become users, if the files have no LNamespace")
	fs.StringSliceVar(&o.Managers, "managers-from", []string{"admin"},
		"ClusterRoles whose subjects become managers, if the files have no LNamespace")
	fs.StringSliceVar(&o.Sudoers, "sudoers-from", []string{"admin"},
		"ClusterRoles whose subjects become sudoers, if the files have no LNamespace")
	fs.StringVar(&o.Account, "account-from", "",
		"key of the annotation or label of a namespace with the account that pays, if the files have no LNamespace")
	fs.StringVar(&o.UserRole, "user-role", "edit", "ClusterRole of the users of a tenant, as for run")
	fs.StringVar(&namespace, "namespace", controllerNamespace, "namespace of the controller, as for run")
	fs.StringSliceVar(&o.Names.Reserved, "reserved", nil, "names that no tenant may have, as for run")
	fs.StringVar(&pattern, "reserved-pattern", naming.AddOns,
		"regular expression for names of parts of the cluster, which are refused; empty means none")
	fs.StringSliceVar(&o.Names.Allowed, "allowed-names", nil,
		"names that are adopted although they match --reserved-pattern or another rule for names")
	return cmd
}

// progress returns a function that prints how far a plan is, at most once a second.
func progress(cmd *cobra.Command) func(done, all int) {
	last := time.Now()
	return func(done, all int) {
		if now := time.Now(); now.Sub(last) >= time.Second {
			last = now
			printing.Fprintf(cmd.ErrOrStderr(), "planned %d of %d namespaces\n", done, all)
		}
	}
}
