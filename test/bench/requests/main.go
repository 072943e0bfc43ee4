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

// options are the flags that several commands have.
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
	flags.StringVar(&o.memoryLimit, "memory-limit", "1500MiB", "GOMEMLIMIT of each server, which collects no garbage below it; nothing for one that collects it as servers do, where turns should be of some hundred requests")
	flags.IntVar(&o.runs, "runs", 5, "how often to start the servers anew; 0 reports what --samples holds")
	flags.IntVar(&o.rounds.count, "rounds", 40, "rounds in a run, in each of which all sides take their turn")
	flags.IntVar(&o.rounds.warm, "warm", 5, "rounds in a run before those that count")
	flags.IntVar(&o.rounds.block, "block", 15, "requests in a turn that count")
	flags.IntVar(&o.rounds.lead, "lead", 3, "requests in a turn before those that count")
	flags.StringVar(&o.samples, "samples", "", "a file to add all measurements to; what it held before is in the report")
	flags.StringVarP(&o.output, "output", "o", "table", "table or json")
	root.AddCommand(newWhole(o), newAgainst(o), newGrowth(o), newBodies(o), newDefinitions(o), newChanged(o), newProfile(o), newShares(o), newAttributes(o), newCarried(o), newPeers(o), newWebhook())
	return root
}
