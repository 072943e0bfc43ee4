// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/auditlog"
	"kube-granular.dev/pkg/cli/chain"
)

func newChainCommand() *cobra.Command {
	format, since, until := "table", "", ""
	f := chain.Filter{}
	cmd := &cobra.Command{
		Use:   "chain FILE...",
		Short: "Print who did what on whose behalf, from an audit log",
		Long: `Print who did what on whose behalf, from the audit logs of kube-apiserver: who
sent a request, which role or delegation it selected, whose authority it used, and
which users handed that authority over.

Without --all, only requests are printed that select an authority, impersonate
somebody, or create a delegation. Probes are left out, by which clients such as
kubectl with ask whether the server knows selections. Refused requests are printed
like any other, with the status of the response and, for delegations, why.

The column REASON has the reason that the caller gave (kubectl with --reason). With
-o wide, the column DECISION has the decision of the authorizer and its reason.

Logs are read one event at a time, so they may be of any size. "-" is standard input.
Logs that were rotated and compressed by gzip need no unpacking. A log has one event
on each line, as the server writes it, or is an EventList, an array, or indented JSON.
Records of CloudWatch Logs, Azure Monitor, Google Cloud Logging (jsonPayload), Fluentd
and Fluent Bit are unwrapped. If a line can't be read, a warning says why, the others
are still printed, and the command fails in the end.`,
		Example: `  # All requests on somebody's behalf
  kube-granular audit chain /var/log/kubernetes/audit.log

  # Requests in which alice took part, in the last two hours, including rotated logs
  kube-granular audit chain --user alice --since 2h audit-*.log.gz audit.log

  # Who created and changed a pod
  kube-granular audit chain --resource pods --namespace shop --name web-0 audit.log

  # All requests with a delegation, as JSON
  kube-granular audit chain --delegation alice-to-deployer -o json audit.log

  # Follow a log
  tail -f audit.log | kube-granular audit chain -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, bound := range []struct {
				flag, text string
				into       *time.Time
			}{{"since", since, &f.Since}, {"until", until, &f.Until}} {
				var err error
				if *bound.into, err = auditlog.ParseTime(bound.text, time.Now()); err != nil {
					return fmt.Errorf("--%s: %w", bound.flag, err)
				}
			}
			p, err := chain.NewPrinter(format, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return readLogs(args, &f, p, cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&format, "output", "o", format, "output format: table, wide, json or yaml")
	fs.StringVar(&f.User, "user", "", "only requests in which this user took part, as the caller or as somebody in the chain")
	fs.StringVar(&f.Resource, "resource", "", "only requests about this resource, such as pods, deployments.apps or pods/exec")
	fs.StringVarP(&f.Namespace, "namespace", "n", "", "only requests about objects of this namespace")
	fs.StringVar(&f.Name, "name", "", "only requests about objects of this name")
	fs.StringVar(&f.Delegation, "delegation", "", "only requests under this delegation, given by name or UID, and its creation")
	fs.StringVar(&since, "since", "", "only requests received at or after this time, such as 2026-11-23T08:00:00Z, or this long ago, such as 2h")
	fs.StringVar(&until, "until", "", "only requests received before this time, or longer ago than this")
	fs.BoolVar(&f.All, "all", false, "all requests, including probes and those that callers sent with their own authority only")
	fs.BoolVar(&f.Running, "running", false, "also requests whose response has begun and not ended, such as watches")
	return cmd
}

// readLogs prints the records of several logs as one table or document.
func readLogs(files []string, f *chain.Filter, p chain.Printer, stdin io.Reader, errs io.Writer) error {
	var total chain.Counts
	var failed error
	for _, file := range files {
		n, err := readLog(file, f, p, stdin, func(err error) { printing.Fprintf(errs, "warning: %s\n", err) })
		total.Events, total.Printed, total.Unread = total.Events+n.Events, total.Printed+n.Printed, total.Unread+n.Unread
		failed = errors.Join(failed, err)
	}
	if err := p.Close(); err != nil {
		failed = errors.Join(failed, err)
	}
	if total.Unread > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d lines could not be read", total.Unread))
	}
	if total.Printed == 0 && failed == nil {
		printing.Fprintf(errs, "None of %d events matches.\n", total.Events)
	}
	return failed
}

func readLog(file string, f *chain.Filter, p chain.Printer, stdin io.Reader, warn func(error)) (chain.Counts, error) {
	if file == "-" {
		return chain.Read("standard input", stdin, f, p, warn)
	}
	log, err := os.Open(file)
	if err != nil {
		return chain.Counts{}, err
	}
	defer log.Close()
	return chain.Read(file, log, f, p, warn)
}
