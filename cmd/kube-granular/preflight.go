// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kube-granular.dev/pkg/cli/export"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/rollback"
)

func newRollbackCommand() *cobra.Command {
	flags, format, standIns := genericclioptions.NewConfigFlags(true), "table", ""
	cmd := &cobra.Command{
		Use:   "rollback",
		Short: "List what is open, lost or left behind if the servers become upstream's",
		Long: `List what changes if the servers of a cluster become upstream's kube-apiserver again:

  Open   somebody may do what is refused now: excluded fields, protected labels and
         annotations, fields that a FieldPermission closes, accounts under a delegation
  Lost   something does not work any more: granular verbs, delegations, policies
  Left   something stays that has no use: objects in storage, roles and leases

The command reads objects of the whole cluster, and writes nothing to it. It fails if it
may not list one of them.

With --stand-ins, it also writes a file with what stands in on upstream's servers:
admission policies for granular roles, protected attributes and FieldPermissions, and
ordinary roles, as kubectl granular export vap does. The list then says for what
nothing stands in, and why. Apply the policies before the rollback.`,
		Example: `  # Before a rollback
  kube-granular preflight rollback

  # Also write what stands in
  kube-granular preflight rollback --stand-ins stand-ins.yaml

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
			if standIns != "" {
				if all, err = writeStandIns(cmd.Context(), flags, client, standIns, all); err != nil {
					return err
				}
			}
			return rollback.Print(cmd.OutOrStdout(), format, all)
		},
	}
	flags.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&standIns, "stand-ins", "", "a new file for what stands in on upstream's servers")
	cmd.Flags().StringVarP(&format, "output", "o", format, fmt.Sprintf("output format: %s", strings.Join(rollback.Formats, ", ")))
	return cmd
}

// writeStandIns writes the file, and returns the findings with what stands in.
func writeStandIns(ctx context.Context, flags *genericclioptions.ConfigFlags, client dynamic.Interface, file string,
	all []rollback.Finding,
) ([]rollback.Finding, error) {
	discovery, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	server, err := discovery.ServerVersion()
	if err != nil {
		return nil, err
	}
	cluster := kinds.NewStock(discovery, mapper)
	found, err := rollback.StandInsOf(ctx, client, func(r *export.Roles) export.Kinds {
		return export.ClusterKinds{Cluster: cluster, Definitions: r.Definitions, Entries: r.Entries()}
	})
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := found.Write(&text, server.GitVersion); err != nil {
		return nil, err
	}
	// An existing file may be what stands in for another cluster.
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = text.WriteTo(out)
	return found.Explain(all), errors.Join(err, out.Close())
}
