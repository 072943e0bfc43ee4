// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/report"
)

func newReport(s *options) *cobra.Command {
	var format output.Flag
	var l auditLogs
	var all bool
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Find permissions that are wider than their use, and unused permissions",
		Long: `Find permissions that are wider than their use, and unused permissions.

The logs show what each subject did. The roles and bindings of the cluster show what it may do.
The first table lists the subjects that hold update or patch on a resource and changed only some
of its fields. It begins with the subjects for which narrower roles would take the most away from
an attacker, counted in permissions of the resource. The second table lists rights that bindings
grant and that none of their subjects used.

The logs don't show what happens only once a year, so use logs of a long time.
Logs of the level RequestResponse show which fields were changed.`,
		Example: indentExamples(`
			# Which permissions would granular roles remove?
			kubectl granular report audit.log

			# The last week, as JSON
			kubectl granular report --since 168h -o json audit.log

			# The role that would suffice instead
			kubectl granular role --subject serviceaccount:ci/deployer --from-audit audit.log`),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if l.files = args; len(args) == 0 {
				return errNoLog
			}
			rbac, err := s.rbac(cmd.Context())
			if err != nil {
				return err
			}
			learner, err := l.learn(cmd, s)
			if err != nil {
				return err
			}
			c, err := s.cluster()
			if err != nil {
				return err
			}
			found, err := report.New(cmd.Context(), learner, rbac, c, all)
			if err != nil {
				return err
			}
			return format.Print(s.streams.Out, found, func(out io.Writer) error { return reportTables(out, found, format.Wide()) })
		},
	}
	format.AddTo(cmd)
	l.addSince(cmd, "")
	cmd.Flags().BoolVar(&all, "all", false, "include the bindings that come with a cluster, whose names begin with system:")
	return cmd
}

func reportTables(out io.Writer, r *report.Report, wide bool) error {
	fmt.Fprintf(out, "Based on %d requests. TAKES is how many permissions a role with NEEDS would remove.\n\n", r.Requests)
	header := []string{"SUBJECT", "WHERE", "RESOURCE", "HOLDS", "NEEDS", "TAKES"}
	if wide {
		header = append(header, "BINDING", "ROLE")
	}
	var rows [][]string
	for _, c := range r.Coarse {
		needs := "granular " + strings.Join(c.Needs, " ")
		if !c.Sure {
			needs += " (not all requests are known)"
		}
		row := []string{c.Subject, orNone(c.Namespace), c.Resource, strings.Join(c.Holds, " "), needs, fmt.Sprintf("%d of %d", c.Takes(), c.Permissions)}
		if wide {
			row = append(row, c.Binding, c.Role)
		}
		rows = append(rows, row)
	}
	if r.NoFields {
		fmt.Fprintln(out, "Which fields were changed is not known: the logs have no request bodies. Use logs of the level RequestResponse.")
	} else if len(rows) == 0 {
		fmt.Fprintln(out, "No subject that holds update or patch changed only some fields.")
	} else if err := output.Table(out, header, rows); err != nil {
		return err
	}
	fmt.Fprintln(out)
	header = []string{"NEVER USED", "ON", "BINDING", "SUBJECTS"}
	if wide {
		header = append(header, "ROLE")
	}
	rows = nil
	for _, u := range r.Unused {
		verbs := strings.Join(u.Verbs, " ")
		if u.Whole {
			verbs += " (all of the rule)"
		}
		row := []string{verbs, qualified(u.Resources, u.Groups), u.Binding, orNone(strings.Join(u.Subjects, ","))}
		if wide {
			row = append(row, u.Role)
		}
		rows = append(rows, row)
	}
	if r.NoReads {
		fmt.Fprintln(out, "Whether get, list and watch were used is not known: the logs have no reads.")
	}
	if len(rows) == 0 {
		fmt.Fprintln(out, map[bool]string{true: "All other granted permissions were used.", false: "All granted permissions were used."}[r.NoReads])
		return nil
	}
	return output.Table(out, header, rows)
}
