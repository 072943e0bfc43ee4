// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/output"
)

// maxDenialText is the maximum length in bytes of the text that is searched for a refusal.
const maxDenialText = 1 << 20

func newExplainDenial(s *options) *cobra.Command {
	var format output.Flag
	var id, subresource string
	cmd := &cobra.Command{
		Use:   "explain-denial [FILE]",
		Short: "Find the smallest rule that lifts a refusal",
		Long: `Find the smallest rule that allows a refused request.

The command reads the message that kubectl or a client printed, from standard input or a file.
With --audit-id, the file is an audit log, and the ID names the refused request.

The rule has the one verb that was missing. It is printed as a role and as a command, followed
by what else it allows. If a protected label or annotation needs a role, the command prints the
binding to this role. For other refusals, it says what to do next.`,
		Example: indentExamples(`
			# Why was that refused?
			kubectl --as=system:serviceaccount:default:supersafe scale deployment web --replicas=9 2>&1 | kubectl granular explain-denial

			# A refusal in a file
			kubectl granular explain-denial refusal.txt

			# From the audit log
			kubectl granular explain-denial audit.log --audit-id 3f7c1f4b-7a3f-4a39-9a5c-0d7f5f6a1a11`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			refused, err := s.denial(args, id)
			if err != nil {
				return err
			}
			if subresource != "" {
				refused.Subresource = subresource
			}
			found, err := s.remedy(refused)
			if err != nil {
				return err
			}
			return format.Print(s.streams.Out, found, func(out io.Writer) error { return found.print(out) })
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringVar(&id, "audit-id", "", "the ID of the refused request; then FILE is an audit log")
	cmd.Flags().StringVar(&subresource, "subresource", "", "the subresource of the write, such as status or scale, if the text does not name it")
	return cmd
}

func (s *options) denial(args []string, id string) (*denial.Denial, error) {
	in := s.streams.In
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	if id != "" {
		return denial.FromAudit(in, id)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxDenialText))
	if err != nil {
		return nil, err
	}
	return denial.Parse(string(text))
}
