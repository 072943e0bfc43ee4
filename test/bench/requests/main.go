// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "requests:", err)
		stop()
		os.Exit(1)
	}
}

// options are the flags that all commands share, and some flags of several commands.
type options struct {
	unpatched, patched, etcd string
	memoryLimit              string
	runs                     int
	rounds                   rounds
	samples, output          string
	only                     []string
	atATime                  int
}

func newCommand() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "requests",
		Short:         "Measure whole requests to kube-apiserver, patched and not, in one run",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&o.unpatched, "unpatched", "bin/kube-apiserver-unpatched", "kube-apiserver without patches")
	flags.StringVar(&o.patched, "patched", "bin/kube-apiserver", "kube-apiserver with patches")
	flags.StringVar(&o.etcd, "etcd", "bin/etcd", "etcd")
	flags.StringVar(&o.memoryLimit, "memory-limit", "1500MiB", "GOMEMLIMIT of each server; below it, the server collects no garbage. Empty lets the server collect garbage as usual; then set --block to some hundred requests")
	flags.IntVar(&o.runs, "runs", 5, "number of runs, each of which starts the servers anew; 0 only reports the measurements in the file --samples")
	flags.IntVar(&o.rounds.count, "rounds", 40, "measured rounds in a run; in each round, all sides take a turn")
	flags.IntVar(&o.rounds.warm, "warm", 5, "rounds at the beginning of a run that are not measured")
	flags.IntVar(&o.rounds.block, "block", 15, "measured requests in a turn")
	flags.IntVar(&o.rounds.lead, "lead", 3, "requests at the beginning of a turn that are not measured")
	flags.StringVar(&o.samples, "samples", "", "file to which all measurements are appended; the report includes the earlier measurements in it")
	flags.StringVarP(&o.output, "output", "o", "table", "output format: table or json")
	root.AddCommand(newWhole(o), newAgainst(o), newGrowth(o), newBodies(o), newDefinitions(o),
		newChanged(o), newProfile(o), newShares(o), newAttributes(o), newWebhook())
	return root
}
