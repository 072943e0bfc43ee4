// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/remedy"
)

// maxDenialText is the maximum length in bytes of the text that is searched for refusals.
const maxDenialText = 64 << 20

func newExplainDenial(s *options) *cobra.Command {
	var format output.Flag
	var id, subresource string
	cmd := &cobra.Command{
		Use:   "explain-denial [FILE]",
		Short: "Find the smallest rule that lifts a refusal",
		Long: `Find the smallest rule that allows a refused request.

The command reads what kubectl or a client printed, or lines of a log, from standard input or a file.
It explains each refusal that it finds. A message may be quoted, as in the JSON lines of a
controller's log. With --audit-id, the file is an audit log, and the ID names the refused request.

The rule has the one verb that was missing, or two if a change of a value needs both: one for the old
value and one for the new value. The rule is printed as a role and as a command, followed by what else
it allows. If a protected label or annotation needs a role, the command prints the binding to this
role. For other refusals, such as one by admission, it says what to do next.`,
		Example: indentExamples(`
			# Why was that refused?
			kubectl --as=system:serviceaccount:default:supersafe scale deployment web --replicas=9 2>&1 | kubectl granular explain-denial

			# A refusal in a file
			kubectl granular explain-denial refusal.txt

			# All refusals in the log of a controller, in JSON or not
			kubectl granular explain-denial controller.log

			# From the audit log
			kubectl granular explain-denial audit.log --audit-id 3f7c1f4b-7a3f-4a39-9a5c-0d7f5f6a1a11`),
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			refused, unread, err := s.denials(args, id)
			if err != nil {
				return errors.Join(err, unread)
			}
			found, unknown := []*remedy.Remedy{}, []error{unread}
			for _, one := range refused {
				if subresource != "" {
					one.Subresource = subresource
				}
				r, err := remedy.For(one, &lazyKinds{s})
				if err != nil {
					unknown = append(unknown, err)
					continue
				}
				found = append(found, r)
			}
			err = format.Print(s.streams.Out, found, func(page *printing.Page) error { return remedy.Print(page, found) })
			return errors.Join(append(unknown, err)...)
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringVar(&id, "audit-id", "", "the ID of the refused request; then FILE is an audit log")
	cmd.Flags().StringVar(&subresource, "subresource", "",
		"the subresource of the write, such as status or scale, if the text does not name it")
	return cmd
}

// denials returns the refusals in the input, and unread if there is more input than is read.
func (s *options) denials(args []string, id string) (refused []*denial.Denial, unread, err error) {
	input := s.streams.In
	if len(args) == 1 && args[0] != "-" {
		file, err := os.Open(args[0])
		if err != nil {
			return nil, nil, err
		}
		defer file.Close()
		input = file
	}
	if id != "" {
		one, err := denial.FromAudit(input, id)
		return []*denial.Denial{one}, nil, err
	}
	text, unread, err := readLines(input, maxDenialText)
	if err != nil {
		return nil, nil, err
	}
	refused, err = denial.Parse(text)
	return refused, unread, err
}

// readLines returns the lines within the first bytes of the input, up to a limit, and unread if there are more. A line that the
// limit would cut could lose a verb.
func readLines(input io.Reader, limit int) (text string, unread, err error) {
	all, err := io.ReadAll(io.LimitReader(input, int64(limit)+1))
	if err != nil || len(all) <= limit {
		return string(all), nil, err
	}
	return string(all[:bytes.LastIndexByte(all[:limit], '\n')+1]),
		fmt.Errorf("the result is not complete: the text is longer than %d MiB, and the rest is not read", limit>>20), nil
}

// lazyKinds asks for the server only when a kind is needed: some refusals need none.
type lazyKinds struct{ *options }

// Lookup implements remedy.Kinds.
func (l *lazyKinds) Lookup(name, version string) (*kinds.Kind, error) {
	c, err := l.cluster()
	if err != nil {
		return nil, err
	}
	return c.Lookup(name, version)
}

// TreeOf implements remedy.Kinds.
func (l *lazyKinds) TreeOf(k *kinds.Kind, subresource string) (*schema.Tree, error) {
	c, err := l.cluster()
	if err != nil {
		return nil, err
	}
	return c.TreeOf(k, subresource)
}
