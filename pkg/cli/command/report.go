// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/report"
	"kube-granular.dev/pkg/cli/roles"
)

func newReport(s *options) *cobra.Command {
	var format output.Flag
	var l auditLogs
	var options report.Options
	var subjects []string
	cmd := &cobra.Command{
		Use:   "report FILE...",
		Short: "Find permissions that are wider than their use, and unused permissions",
		Long: `Find permissions that are wider than their use, and unused permissions.

The logs show what each subject did. The roles and bindings of the cluster show what it may do.
The first table lists the subjects that hold update or patch on a resource and changed only some
of its fields. It begins with the subjects for which narrower roles would take the most away from
an attacker, counted in permissions of the resource. The second table lists what was used of rules
with *. The last one lists rights that bindings grant and that none of their subjects used.

A request under a delegation counts for the delegator, whose rights it used. Verbs that the server
asks for during other requests, such as bind, approve and protectedLabel, are never called unused,
because logs don't show them. Rights in API groups that the server does not serve are left out.

The logs don't show what happens only once a year, so use logs of a long time.
Logs of the level RequestResponse show which fields were changed.

` + logForms,
		Example: indentExamples(`
			# Which permissions would granular roles remove?
			kubectl granular report audit.log

			# What may one service account do that it never did?
			kubectl granular report --subject serviceaccount:ci/deployer audit.log

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
			var err error
			if options.Subjects, err = roles.ParseSubjects("--subject", subjects); err != nil {
				return err
			}
			rbac, err := s.rbac(cmd.Context())
			if err != nil {
				return err
			}
			learner, err := l.learn(cmd, s)
			if err != nil {
				return err
			}
			c, err := s.wholeCluster()
			if err != nil {
				return err
			}
			if options.Groups, err = c.Groups(); err != nil {
				return err
			}
			found, err := report.New(cmd.Context(), learner, rbac, c, options)
			if err != nil {
				return err
			}
			found.NoPermissions = errors.Is(c.Recognize(), kinds.ErrNoPermissions)
			if err := format.Print(s.streams.Out, found, func(page *printing.Page) error { return reportTables(page, found) }); err != nil {
				return err
			}
			return l.complete()
		},
	}
	format.AddTo(cmd)
	l.addSince(cmd, "")
	cmd.Flags().StringSliceVar(&subjects, "subject", nil,
		"only what these may do, by name or as members of groups: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME")
	cmd.Flags().BoolVar(&options.All, "all", false, "include the bindings that come with a cluster, whose names begin with system:")
	return cmd
}

func reportTables(page *printing.Page, r *report.Report) error {
	printing.Fprintf(page, "Based on %d requests. TAKES is how many permissions a role with NEEDS would remove.\n", r.Requests)
	if r.Paths > 0 {
		printing.Fprintf(page, "Rules about paths are not judged: requests without a resource, such as /metrics: %d.\n", r.Paths)
	}
	printing.Fprintf(page, "\n")
	if r.NoPermissions {
		printing.Fprintf(page, "Which verbs of single fields would suffice is not known: the server has none.\n")
	} else if r.NoFields {
		printing.Fprintf(page, "Which fields were changed is not known: the logs have no request bodies. Use logs of the level RequestResponse.\n")
	} else if len(r.Coarse) == 0 {
		printing.Fprintf(page, "No subject that holds update or patch changed only some fields.\n")
	} else if err := coarseTable(page, r.Coarse); err != nil {
		return err
	}
	printing.Fprintf(page, "\n")
	if len(r.Wildcards) > 0 {
		if err := wildcardsTable(page, r.Wildcards); err != nil {
			return err
		}
		printing.Fprintf(page, "\n")
	}
	if r.NoReads {
		printing.Fprintf(page, "Whether get, list and watch were used is not known: the logs have no reads.\n")
	}
	if len(r.NotShown) > 0 {
		printing.Fprintf(page, "Whether these were used is not known, because the logs have no request about them: %s\n",
			strings.Join(r.NotShown, ", "))
	}
	if len(r.NotServed) > 0 {
		printing.Fprintf(page, "Rights in API groups that the server does not serve are left out: %s\n", strings.Join(r.NotServed, ", "))
	}
	if len(r.Unused) == 0 {
		printing.Fprintf(page, "%s\n", map[bool]string{true: "All other granted permissions were used.",
			false: "All granted permissions were used."}[r.NoReads || len(r.NotShown) > 0])
		return nil
	}
	return unusedTable(page, r.Unused)
}

// coarseTable prints the rights to update that are wider than their use. It groups them by subject.
// Namespaces in which the subject needs the same share a row, unless the page is wide.
func coarseTable(page *printing.Page, all []report.Coarse) error {
	header := []string{"SUBJECT", "RESOURCE", "WHERE", "TAKES", "NEEDS"}
	if page.Wide() {
		header = append(header, "HOLDS", "BINDING", "ROLE")
	}
	var rows [][]string
	shared := map[string]int{}
	namespaces := map[string]int{}
	for _, c := range all {
		needs := "granular " + strings.Join(c.Needs, " ")
		if !c.Sure {
			needs += " (not all requests are known)"
		}
		row := []string{c.Subject, c.Resource, orNone(c.Namespace), fmt.Sprintf("%d of %d", c.Takes(), c.Permissions), needs}
		if page.Wide() {
			rows = append(rows, append(row, strings.Join(c.Holds, " "), c.Binding, c.Role))
			continue
		}
		key := strings.Join([]string{c.Subject, c.Resource, needs}, "\n")
		namespaces[key]++
		if i, known := shared[key]; known {
			rows[i][2] = fmt.Sprintf("%d namespaces", namespaces[key])
			continue
		}
		shared[key] = len(rows)
		rows = append(rows, row)
	}
	return page.Grouped(2, header, together(rows, 1))
}

// wildcardsTable prints what was used of rules with *.
func wildcardsTable(page *printing.Page, all []report.Wildcard) error {
	header := []string{"SUBJECTS", "BINDING", "RULE", "USED OF *"}
	if page.Wide() {
		header = append(header, "ROLE")
	}
	var rows [][]string
	for _, w := range all {
		row := []string{orNone(strings.Join(w.Subjects, ",")), w.Binding,
			strings.Join(w.Verbs, " ") + " on " + qualified(w.Resources, w.Groups), usedText(w.Used, page.Wide())}
		if page.Wide() {
			row = append(row, w.Role)
		}
		rows = append(rows, row)
	}
	return page.Grouped(2, header, together(rows, 2))
}

// unusedTable prints granted rights that nobody used, by binding.
func unusedTable(page *printing.Page, all []report.Unused) error {
	header := []string{"SUBJECTS", "BINDING", "NEVER USED", "ON"}
	if page.Wide() {
		header = append(header, "ROLE")
	}
	var rows [][]string
	for _, u := range all {
		verbs := strings.Join(u.Verbs, " ")
		if u.Whole {
			verbs += " (all of the rule)"
		}
		row := []string{orNone(strings.Join(u.Subjects, ",")), u.Binding, verbs, qualified(u.Resources, u.Groups)}
		if page.Wide() {
			row = append(row, u.Role)
		}
		rows = append(rows, row)
	}
	return page.Grouped(2, header, together(rows, 2))
}

// together moves rows with the same first cells, as many as leading, to the first of them.
func together(rows [][]string, leading int) [][]string {
	first := map[string]int{}
	for _, row := range rows {
		if key := strings.Join(row[:leading], "\n"); first[key] == 0 {
			first[key] = len(first) + 1
		}
	}
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b []string) int {
		return cmp.Compare(first[strings.Join(a[:leading], "\n")], first[strings.Join(b[:leading], "\n")])
	})
	return out
}

// maxUsed is the number of resources that a table without all columns lists for a rule with *.
const maxUsed = 5

// usedText describes what was used of a rule with *.
func usedText(used []report.Used, wide bool) string {
	var out []string
	for i, u := range used {
		if i == maxUsed && !wide {
			out = append(out, fmt.Sprintf("and %d more", len(used)-i))
			break
		}
		out = append(out, strings.Join(u.Verbs, " ")+" on "+u.Resource)
	}
	return strings.Join(out, "; ")
}
