// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/kubectl/pkg/util/term"

	"kube-granular.dev/pkg/cli/protected"
)

func newReportCommand() *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	format := "table"
	report := protected.Report{}
	cmd := &cobra.Command{
		Use:   "report [RESOURCE...]",
		Short: "List the objects that carry protected labels and annotations",
		Long: `List the objects that carry protected labels and annotations: to create such an
object, or to change these values, a user needs a role or a verb.

The report reads all objects that you may list, page by page: those of all
namespaces and those without one, or of one namespace with --namespace. Labels
and annotations of templates are included. With --as the report is made as another
user, who must be allowed to list the objects.

Attributes of both modes, Enforce and Audit, are included, so that you can see what
enforcing them would affect.`,
		Example: `  # Everything in the cluster
  kube-granular protected report

  # The deployments and pods of one namespace, with the values
  kube-granular protected report deployments.apps pods --namespace shop -o wide

  # For a program
  kube-granular protected report -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := flags.ToRESTConfig()
			if err != nil {
				return err
			}
			// Raise client-go's default limits, so that a large cluster is read quickly.
			config.QPS, config.Burst = 50, 100
			// Warnings about deprecated versions are not useful here.
			config.WarningHandler = rest.NoWarnings{}
			var progress io.Writer
			if errs := cmd.ErrOrStderr(); (term.TTY{Out: errs}).IsTerminalOut() {
				progress = errs
			}
			printer, err := protected.NewPrinter(format, cmd.OutOrStdout(), cmd.ErrOrStderr(), progress)
			if err != nil {
				return err
			}
			report.Namespace, report.Resources, report.Config = *flags.Namespace, args, config
			err = report.Run(cmd.Context(), printer)
			if closed := printer.Close(); err == nil {
				err = closed
			}
			return err
		},
	}
	flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&format, "output", "o", format, "output format: table, wide (with values) or json")
	return cmd
}
