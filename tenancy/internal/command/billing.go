// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/billing/report"
	"kube-granular.dev/tenancy/internal/billing/store"
)

// addBillingFlags adds the flags that select the billing table.
func addBillingFlags(fs *pflag.FlagSet, c *store.Config) {
	fs.StringVar(&c.Driver, "billing-driver", "sqlite", "database with the billing table: "+strings.Join(store.Drivers(), ", "))
	fs.StringVar(&c.Source, "billing-source", "",
		"what the driver connects to: a file, a connection string, or a project; empty disables billing")
	fs.StringVar(&c.Dataset, "billing-dataset", "", "schema or dataset of the billing table")
	fs.StringVar(&c.Table, "billing-table", "lnamespace_periods", "name of the billing table")
}

func newBillingCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "billing", Short: "Report what each account has to pay for"}
	c := store.Config{}
	var month, format, kubeconfig string
	var reconcile bool
	show := &cobra.Command{
		Use:   "report",
		Short: "Print for how long each account pays for each tenant in a month (UTC)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := report.Month(month)
			if err != nil {
				return err
			}
			if c.Source == "" {
				return fmt.Errorf("--billing-source is empty")
			}
			table, err := store.Open(c)
			if err != nil {
				return err
			}
			defer table.Close()
			periods, err := table.Between(cmd.Context(), from, to)
			if err != nil {
				return fmt.Errorf("billing table: %w", err)
			}
			lines := report.Lines(periods, from, to, time.Now())
			if err := report.Write(cmd.OutOrStdout(), format, lines); err != nil || !reconcile {
				return err
			}
			api, err := newClient(kubeconfig, nil)
			if err != nil {
				return err
			}
			wrong, err := differences(cmd.Context(), table, api)
			if err != nil {
				return err
			}
			for _, w := range wrong {
				printing.Fprintf(cmd.ErrOrStderr(), "%s\n", w)
			}
			if len(wrong) > 0 {
				return fmt.Errorf("the billing table and the cluster differ: %d differences", len(wrong))
			}
			return nil
		},
	}
	fs := show.Flags()
	addBillingFlags(fs, &c)
	fs.StringVar(&month, "month", time.Now().UTC().Format("2006-01"), "month, such as 2026-11")
	fs.StringVarP(&format, "output", "o", "table", "table, wide (shortens nothing), csv or chart")
	fs.BoolVar(&reconcile, "reconcile", false, "also compare the billing table with the LNamespaces of the cluster, and fail if they differ")
	fs.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig for --reconcile")
	cmd.AddCommand(show)
	return cmd
}

// differences returns the differences between the billing table and the LNamespaces of the cluster. The
// controller can write between the two reads, so only what a second look finds too is a difference.
func differences(ctx context.Context, table store.Table, api client.Reader) ([]string, error) {
	var wrong []string
	for look := range 2 {
		list := v1alpha1.LNamespaceList{}
		if err := api.List(ctx, &list); err != nil {
			return nil, err
		}
		rows, err := table.Between(ctx, time.Unix(0, 0), time.Unix(1<<40, 0))
		if err != nil {
			return nil, fmt.Errorf("billing table: %w", err)
		}
		found := report.Reconcile(rows, list.Items)
		if look == 0 {
			wrong = found
		} else {
			wrong = slices.DeleteFunc(wrong, func(w string) bool { return !slices.Contains(found, w) })
		}
		if len(wrong) == 0 {
			break
		}
	}
	return wrong, nil
}
