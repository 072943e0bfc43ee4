// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command example-webhook is an authorization webhook for experiments.
//
// This folder has only flags and start-up code. The webhook is in pkg/examplewebhook.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/examplewebhook"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		printing.Error(os.Stderr, err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	o := examplewebhook.Options{}
	format := "text"
	cmd := &cobra.Command{
		Use:   "example-webhook --policy FILE",
		Short: "An authorization webhook that answers by a policy in one file",
		Long: `Answer SubjectAccessReviews of version v1 by a policy in one YAML file.

The policy has rules that deny, rules that allow, and faults, for which the answer is
late, broken or missing. Without a matching rule the answer is no opinion. The file is read
again when it changes.

Each start creates a new certificate. The kubeconfig with which kube-apiserver connects to
the webhook is written to the file of --kubeconfig; name it in the authorization
configuration. When the webhook is ready it prints "ready: URL", and then one line for
each review.

It listens on loopback only, does not authenticate its clients, and is an example: do not
use it in production.`,
		Example: `  example-webhook --policy policy.yaml --kubeconfig webhook.kubeconfig

  # policy.yaml: only the group "thawers" may write in the namespace "frozen"
  deny:
  - namespaces: ["frozen"]
    verbs: ["create", "update", "patch", "delete", "deletecollection"]
    exceptGroups: ["thawers"]
    reason: the namespace is frozen`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			line, err := printer(format, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			o.OnReview = line
			o.OnError = func(err error) { printing.Fprintf(cmd.ErrOrStderr(), "example-webhook: %s\n", err) }
			server, err := examplewebhook.Start(o)
			if err != nil {
				return err
			}
			printing.Fprintf(cmd.OutOrStdout(), "ready: %s\n", server.URL)
			return server.Wait(cmd.Context())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Policy, "policy", "", "file with the policy")
	fs.StringVar(&o.Listen, "listen", "127.0.0.1:9443", "loopback address to listen on; port 0 picks a free port")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "webhook.kubeconfig", "file to write for kube-apiserver")
	fs.StringVarP(&format, "output", "o", format, "output format of reviews: text or json")
	if err := cmd.MarkFlagRequired("policy"); err != nil {
		panic(err)
	}
	return cmd
}

// printer returns a function that prints a review and its answer on one line of w, in a format:
// text or json.
func printer(format string, w io.Writer) (func(examplewebhook.Record), error) {
	var mu sync.Mutex
	switch format {
	case "text":
		return func(a examplewebhook.Record) {
			mu.Lock()
			defer mu.Unlock()
			printing.Fprintf(w, "%s\n", a)
		}, nil
	case "json":
		return func(a examplewebhook.Record) {
			text, err := printing.MarshalJSON(a)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			printing.Fprintf(w, "%s\n", printing.Escaped(text))
		}, nil
	}
	return nil, fmt.Errorf("--output: %q is neither text nor json", format)
}
