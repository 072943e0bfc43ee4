// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Command example-webhook is an authorization webhook to try things out with.
//
// This folder holds flags and start-up only; what it does is in pkg/examplewebhook.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"kube-granular.dev/pkg/examplewebhook"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
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

The policy has rules that deny, rules that allow, and faults: answers that come late,
are no answers, or never come. What no rule matches is no opinion. The file is read
again when it changes.

The certificate is made anew with each start. What kube-apiserver needs to find and
trust the webhook is written to the kubeconfig; name it in the authorization
configuration. When the webhook is ready it prints "ready: URL", and then a line for
each review.

It listens on loopback only, asks nobody who they are, and is an example: don't use it
where it matters who may do what.`,
		Example: `  example-webhook --policy policy.yaml --kubeconfig webhook.kubeconfig

  # policy.yaml: nobody but the group "thawers" writes in the namespace "frozen"
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
			o.OnError = func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), "example-webhook:", err) }
			server, err := examplewebhook.Start(o)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready:", server.URL)
			return server.Wait(cmd.Context())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Policy, "policy", "", "file with the policy")
	fs.StringVar(&o.Listen, "listen", "127.0.0.1:9443", "address of loopback to listen on; port 0 picks a free one")
	fs.StringVar(&o.Kubeconfig, "kubeconfig", "webhook.kubeconfig", "file to write for kube-apiserver")
	fs.StringVarP(&format, "output", "o", format, "how reviews are printed: text or json")
	if err := cmd.MarkFlagRequired("policy"); err != nil {
		panic(err)
	}
	return cmd
}

// printer returns what prints a line for each review.
func printer(format string, w io.Writer) (func(examplewebhook.Record), error) {
	var mu sync.Mutex
	switch format {
	case "text":
		return func(a examplewebhook.Record) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(w, a)
		}, nil
	case "json":
		lines := json.NewEncoder(w)
		return func(a examplewebhook.Record) {
			mu.Lock()
			defer mu.Unlock()
			_ = lines.Encode(a)
		}, nil
	}
	return nil, fmt.Errorf("--output: %q is neither text nor json", format)
}
