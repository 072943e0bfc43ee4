// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/check"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/learn"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roletest/draft"
)

func newCheck(s *options) *cobra.Command {
	var format output.Flag
	var logs auditLogs
	var files []string
	var test string
	cmd := &cobra.Command{
		Use:   "check -f ROLE --audit-log LOG [LOG...]",
		Short: "Find the requests in audit logs that roles would refuse",
		Long: `Find the requests in audit logs that roles would refuse.

The files have the new roles, before they are written to the cluster. The logs have what was done
under the old ones. The command judges each request that was allowed then, as the server would under
the new roles: by the verb of the request, or by the verb granular and the fields that the request
changed. It prints what would be refused, and the verbs that the roles lack.

What counts: a binding in the files says where its role counts, and for whom. A role that no binding
in the files refers to counts for everybody: a Role in its namespace, a ClusterRole everywhere. Roles
and bindings of the cluster do not count.

Whose requests: those of --subject, or else of the subjects of the bindings in the files, or else, if
there is no binding, of all users.

If the log does not show which fields a request changed, the request is not provable; it never counts
as allowed. Logs of the level RequestResponse show the fields. Logs of the level Metadata have only the
verbs by which a kube-granular server allowed changes of fields. Without a server, or with one that
does not authorize single fields, only whole verbs can be judged.

Not judged: requests that were refused then, writes that failed, requests without a resource, such as
/healthz, requests under a delegation of somebody else, admission, protected labels and annotations,
and verbs that the server asks for during other requests, such as bind and escalate.

With --test, the command also writes a test of the roles for kube-granular test. Its cases are the
requests in the logs: those that the roles would allow, and those that they would refuse, with the
field and the verb. The objects that the cases need come from the log, without the values of Secrets.
Comments at the top count the requests that are no case, and say why.

The exit code is 0 if all requests would be allowed, 1 if one would be refused, 3 if none would be
refused but some are not provable, and 2 for an error, such as a line that can't be read.

` + logForms,
		Example: indentExamples(`
			# Would this role suffice for what the service account did? (no)
			kubectl granular check -f role.yaml --subject serviceaccount:ci/deployer --audit-log audit.log

			# The same as JSON, for requests since a time (no)
			kubectl granular check -f role.yaml --subject serviceaccount:ci/deployer -o json --since 2026-11-23T08:00:00Z --audit-log audit.log

			# A test of the roles, from what the log shows (no)
			kubectl granular check -f role.yaml --test role.test.yaml --subject serviceaccount:ci/deployer --audit-log audit.log

			# The role that the log teaches suffices for the log
			kubectl granular role --subject serviceaccount:ci/deployer --from-audit audit.log | kubectl granular check -f - --audit-log audit.log`),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := s.check(cmd, &format, files, &logs, args, test)
			if errors.Is(err, ErrNo) || errors.Is(err, errNotProvable) || err == nil {
				return err
			}
			return trouble{err}
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "files with roles and their bindings; - is standard input")
	cmd.Flags().StringSliceVar(&logs.files, "audit-log", nil,
		"audit logs, plain or compressed by gzip; more files may follow as arguments; - is standard input")
	cmd.Flags().StringSliceVar(&logs.subjects, "subject", nil,
		"only requests of these: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME")
	cmd.Flags().StringVar(&test, "test", "", "also write a new file with a test of the roles, for kube-granular test")
	logs.addSince(cmd, "")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return trouble{usageError(c, err)} })
	return cmd
}

// check runs the command check.
func (s *options) check(cmd *cobra.Command, format *output.Flag, files []string, logs *auditLogs, args []string, test string) error {
	if err := format.Validate(); err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("the roles are missing; name their files with -f, or - for standard input")
	}
	if logs.files = append(logs.files, args...); len(logs.files) == 0 {
		return errNoLog
	}
	rules, err := s.rolesOf(files)
	if err != nil {
		return err
	}
	// A request that changes an excluded field would count as allowed. Without a server, no field is provable.
	if _, err := s.wholeCluster(); errors.Is(err, kinds.ErrNoEntries) {
		return err
	}
	if len(logs.subjects) == 0 && rules.HasBindings() {
		logs.subjectOf = func(name string, groups []string) (rbacv1.Subject, bool) {
			who, ok := learn.SubjectOfUser(name, groups)
			return who, ok && rules.Bind(name, groups)
		}
	}
	checker := check.New(rules)
	recorder := draft.NewRecorder(rules)
	logs.each = checker.Judge
	if test != "" {
		logs.each = func(ctx context.Context, d *learn.Demand) {
			checker.Judge(ctx, d)
			recorder.Judge(ctx, d)
		}
	}
	learner, err := logs.learn(cmd, s)
	if err != nil {
		return err
	}
	found, err := checker.Result(learner)
	if err != nil {
		return err
	}
	if len(found.Subjects) == 0 {
		return fmt.Errorf("none of the %d requests in the logs is of %s", learner.Events,
			cmp.Or(strings.Join(logs.subjects, ", "), "a subject of the bindings"))
	}
	if err := format.Print(s.streams.Out, found, func(page *printing.Page) error { return checkTables(page, found) }); err != nil {
		return err
	}
	if test != "" {
		if err := newFile(test, recorder.Write); err != nil {
			return fmt.Errorf("--test: %w", err)
		}
	}
	switch err := logs.complete(); {
	case err != nil:
		return err
	case found.Refused > 0:
		return ErrNo
	case found.NotProvable > 0:
		return errNotProvable
	}
	return nil
}

// rolesOf reads the roles and bindings of files.
func (s *options) rolesOf(files []string) (*check.Roles, error) {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	out := check.NewRoles(namespace)
	if err := s.eachFile(files, out.Add); err != nil {
		return nil, err
	}
	if err := out.Complete(); err != nil {
		return nil, err
	}
	for _, note := range out.Notes {
		printing.Fprintf(s.streams.ErrOut, "warning: %s\n", note)
	}
	return out, nil
}

// checkTables prints the result for people.
func checkTables(page *printing.Page, found *check.Result) error {
	printing.Fprintf(page, "%d requests: %d would be allowed, %d refused, %d are not provable.\n", found.Requests, found.Allowed,
		found.Refused, found.NotProvable)
	if text := notJudged(&found.NotJudged); text != "" {
		printing.Fprintf(page, "Not judged: %s.\n", text)
	}
	if found.Unlisted > 0 {
		printing.Fprintf(page, "Of those refused or not provable, %d are not listed.\n", found.Unlisted)
	}
	for _, part := range []struct {
		outcome             learn.Outcome
		title, why, missing string
	}{{learn.Refused, "REFUSED", "FIELD", "MISSING"}, {learn.Unproven, "NOT PROVABLE", "WHY", "CERTAIN WITH"}} {
		header, first := []string{part.title, "VERB", "REQUESTS", part.why, part.missing}, 1
		if len(found.Subjects) > 1 {
			header, first = append([]string{"SUBJECT"}, header...), 2
		}
		if page.Wide() {
			header = append(header, "AUDIT IDS")
		}
		var rows [][]string
		for i := range found.Findings {
			if f := &found.Findings[i]; f.Outcome == part.outcome {
				row := checkRow(f, page.Wide())
				if first == 2 {
					row = append([]string{f.Subject}, row...)
				}
				if page.Wide() {
					row = append(row, strings.Join(f.AuditIDs, " "))
				}
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		printing.Fprintf(page, "\n")
		if err := page.Grouped(first, header, rows); err != nil {
			return err
		}
	}
	return nil
}

// maxWays is the length in bytes up to which a table that is not wide has all ways to allow requests.
const maxWays = 32

// checkRow returns the cells of a finding. If they are not wide, and there are long ways to allow the
// requests, they have the first way only, so that the verb in it is not shortened.
func checkRow(f *check.Finding, wide bool) []string {
	what := kinds.Qualified(f.Group, f.Resource)
	names := strings.Join(f.Names, ",")
	if f.MoreNames {
		names += ",..."
	}
	if f.Namespace != "" {
		names = f.Namespace + "/" + cmp.Or(names, "*")
	}
	var ways []string
	for _, way := range f.Missing {
		ways = append(ways, strings.Join(way, " "))
	}
	missing := strings.Join(ways, ", or ")
	if len(missing) > maxWays && !wide {
		missing = ways[0]
	}
	why := strings.Join(f.Fields, ",")
	if f.Why != "" {
		why = strings.TrimPrefix(why+": "+f.Why, ": ")
	}
	return []string{strings.TrimSpace(what + " " + names), f.Verb, fmt.Sprint(f.Requests), orNone(why), orNone(missing)}
}

// notJudged describes the requests that were not judged.
func notJudged(n *check.NotJudged) string {
	var out []string
	for _, part := range []struct {
		count int
		text  string
	}{
		{n.Forbidden, "refused then"}, {n.Failed, "writes that failed"}, {n.Missing, "writes of objects that did not exist"},
		{n.Paths, "without a resource"}, {n.Rehearsed, "dry runs and reviews of kubectl granular"},
		{n.Delegated, "under a delegation of somebody else"},
	} {
		if part.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", part.count, part.text))
		}
	}
	return strings.Join(out, ", ")
}
