// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/rollback"
)

func newPreflightCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Look ahead before a cluster's servers are replaced",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newRollbackCommand())
	return cmd
}

func newRollbackCommand() *cobra.Command {
	flags, format := genericclioptions.NewConfigFlags(true), "table"
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "List what is open, lost or left behind if the servers become upstream's",
		Long: `List what changes if the servers of a cluster become upstream's kube-apiserver again:

  Open   somebody may do what is refused now: excluded fields, protected labels and
         annotations, fields that a FieldPermission closes, accounts under a delegation
  Lost   something does not work any more: granular verbs, delegations, policies
  Left   something stays that has no use: objects in storage, roles and leases

The command reads objects of the whole cluster, and writes nothing. It fails if it may
not list one of them.`,
		Example: `  # Before a rollback
  kube-granular preflight rollback

  # For a program: the number of things that would be open
  kube-granular preflight rollback -o json | jq '[.findings[] | select(.effect == "Open")] | length'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := flags.ToRESTConfig()
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 50, 100
			// Warnings about versions are not useful here.
			config.WarningHandler = rest.NoWarnings{}
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				return err
			}
			all, err := rollback.Read(cmd.Context(), client)
			if err != nil {
				return err
			}
			return rollback.Print(cmd.OutOrStdout(), format, all)
		},
	}
	flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVarP(&format, "output", "o", format, fmt.Sprintf("output format: %s", strings.Join(rollback.Formats, ", ")))
	return cmd
}
