// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

func newRole(s *options) *cobra.Command {
	var format output.Flag
	var source changeFlags
	var options roles.Options
	var name string
	var subjects []string
	var apply, wider, exact bool
	var test string
	var audited auditLogs
	cmd := &cobra.Command{
		Use:   "role (-f FILE | RESOURCE/NAME --patch PATCH | -- kubectl ARGS... | --from-audit FILE...)",
		Short: "Make the smallest role that allows a change, or the requests in audit logs",
		Long: `Make the smallest role that allows a change, and its binding.

The command tries the change as a dry run, with your own rights. The role has the narrowest
verb for each changed field, and no verb that the change does not need. It names the object. It
also grants what a kubectl command reads.

The command prints the role, and writes it only with --apply. It does not write a role or binding
that exists with other rules or subjects, so that nobody loses anything. It adds no rules to a role
that a binding gives to other subjects, or in other namespaces, than the bindings that it writes: the
rules would count there, too. It checks all objects before it writes the first one. If the server then
refuses one, those that are written stay. Changes that the user did not make, such as additions of
webhooks, need no verb.

With --from-audit, the command makes roles from audit logs: for each user, or for those that
--subject names, the smallest rules that allow what the log shows. A log of the level
RequestResponse, of any server, shows which fields a request changed. A log of the level Metadata
shows them only for requests that a kube-granular server allowed by permissions of fields. For other
requests, the role grants the ordinary verb. A comment names the requests behind each verb. If a
subject used more than 10 names of a resource, the role allows all names. If it used more than 20
namespaces, the role allows all namespaces. A comment counts what no rule is for: requests without a
resource, such as /metrics, and the dry runs and reviews by which kubectl granular asks what is allowed.

With --forbidden, the command also learns requests that authorization refused: let a program run and
fail, grant what it tried, and repeat. Whoever sends a request decides what it tries, so the comments
at the top list these rules, and they are only for the objects that the requests named. A refused
change does not show its fields. So its rule has update or patch, or, if single fields were
authorized, the verb of the one field that the refusal names.

` + logForms,
		Example: indentExamples(`
			# Which role does scaling this deployment need?
			kubectl granular role -- kubectl scale deployment web --replicas=3

			# A role to change the images of all deployments, for a group
			kubectl granular role --any-name --subject group:builders -- kubectl set image deployment/web web=registry.example/web:2.0

			# With the most general verbs instead of the narrowest
			kubectl granular role deployments/web --wider -p '{"metadata":{"labels":{"example.com/tier":"front"}}}'

			# A role that restarts deployments, and can set no other annotation
			kubectl granular role --exact --any-name -- kubectl rollout restart deployment web

			# Write the role and its binding
			kubectl granular role --apply --name web-tier --subject user:jane deployments/web -p '{"metadata":{"labels":{"example.com/tier":"front"}}}'

			# Which rights does this service account need, judged by what it really did?
			kubectl granular role --subject serviceaccount:ci/deployer --from-audit audit.log

			# The same, with a test of the roles from the requests
			kubectl granular role --subject serviceaccount:ci/deployer --test deployer.test.yaml --from-audit audit.log

			# And by what it tried, and was refused?
			kubectl granular role --subject serviceaccount:ci/deployer --forbidden --from-audit audit.log`),
		ValidArgsFunction: s.completeObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if len(subjects) == 0 && *s.flags.Impersonate != "" {
				subjects = []string{*s.flags.Impersonate}
			}
			bound, err := roles.ParseSubjects("--subject", subjects)
			if err != nil {
				return err
			}
			switch {
			case wider:
				options.Width = roles.Wide
			case exact:
				options.Width = roles.Exact
			}
			if len(audited.files) > 0 {
				if given := cmd.Flags().Changed; given("filename") || given("patch") || cmd.ArgsLenAtDash() >= 0 {
					return errors.New("--from-audit can't be combined with a change")
				}
				if apply && len(bound) == 0 {
					return errors.New("--apply with --from-audit needs --subject")
				}
				if audited.forbidden && len(bound) == 0 {
					return errors.New("--forbidden needs --subject: anybody can send requests that are refused, so name whose requests to learn")
				}
				if audited.forbidden && options.AnyName {
					return errors.New("--forbidden and --any-name can't be combined: a refused request shows only that its own object was asked for")
				}
				audited.files, audited.subjects = append(audited.files, args...), subjects
				if test != "" && slices.Contains(audited.files, "-") {
					return errors.New("--test reads the logs twice, so it needs files and not standard input")
				}
				if err := s.fromAudit(cmd, &audited, &format, options, name, apply, test); err != nil {
					return err
				}
				return audited.complete()
			}
			if audited.since != "" {
				return errors.New("--since needs --from-audit")
			}
			if audited.forbidden {
				return errors.New("--forbidden needs --from-audit")
			}
			if apply && len(bound) == 0 {
				return errors.New("--apply needs --subject: a role without a binding grants nothing")
			}
			if test != "" && len(bound) != 1 {
				return errors.New("--test needs one --subject, which sends the requests of the test")
			}
			grants, suggested, changed, err := s.grants(cmd, &source, options, args)
			if err != nil {
				return err
			}
			if name == "" {
				name = roles.NameFor(suggested, bound, grants...)
			}
			if test != "" {
				if err := writeTest(cmd.Context(), test, grants, name, bound[0], changed); err != nil {
					return fmt.Errorf("--test: %w", err)
				}
			}
			if err := printGrants(s.streams.Out, &format, grants, name, bound); err != nil {
				return err
			}
			if len(bound) == 0 {
				printing.Fprintf(s.streams.ErrOut, "No --subject: the role is not bound to anybody yet.\n")
			}
			if apply {
				return s.apply(cmd.Context(), grants, name, bound)
			}
			return nil
		},
	}
	source.addTo(cmd)
	format.AddTo(cmd)
	format.Default(cmd, "yaml")
	cmd.Flags().StringSliceVar(&subjects, "subject", nil,
		"who gets the role: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME; the default is the user of --as")
	cmd.Flags().StringVar(&name, "name", "", "the name of the role and its binding; the default is made from the object, the rules and the subjects")
	cmd.Flags().BoolVar(&wider, "wider", false, "grant the most general verbs, not the narrowest")
	cmd.Flags().BoolVar(&exact, "exact", false, "grant labels and annotations by their whole keys, not by the domains of these, and fields of a container by its name")
	cmd.MarkFlagsMutuallyExclusive("wider", "exact")
	cmd.Flags().BoolVar(&options.AnyName, "any-name", false, "grant the rights for all objects of the resource, not only for the changed one")
	cmd.Flags().StringSliceVar(&audited.files, "from-audit", nil,
		"learn from these audit logs, plain or compressed by gzip; more files may follow as arguments; - is standard input")
	audited.addSince(cmd, "with --from-audit: ")
	cmd.Flags().BoolVar(&audited.forbidden, "forbidden", false,
		"with --from-audit: also learn what authorization refused to the --subject; read the rules before you grant them")
	cmd.Flags().StringVar(&test, "test", "", "also write a new file with a test of the role, for kube-granular test; "+
		"it has the changed objects, without the values of Secrets; with --from-audit, its cases are the requests in the logs")
	cmd.Flags().BoolVar(&apply, "apply", false, "write the role and its binding to the cluster")
	return cmd
}

// grants returns the rules that are needed for the change that the flags and arguments describe, the
// beginning of a name for the role, and the change.
func (s *options) grants(
	cmd *cobra.Command, source *changeFlags, options roles.Options, args []string,
) ([]roles.Grant, string, *changeRequests, error) {
	changed, err := source.requests(cmd, s, args)
	if err != nil {
		return nil, "", nil, err
	}
	var rehearsed []*changes.DryRun
	for _, request := range changed.requests {
		r, err := changed.rehearser.Run(cmd.Context(), request)
		if err != nil {
			return nil, "", nil, fmt.Errorf("%s: %w", request.String(), err)
		}
		if !r.Sure {
			printing.Fprintf(s.streams.ErrOut, "warning: %s: you lack the permissions for a dry run, so the role covers only the fields that the request itself names\n", request.String())
		}
		rehearsed = append(rehearsed, r)
	}
	grants, err := roles.GrantsFor(cmd.Context(), rehearsed, changed.reads, options)
	if err != nil {
		return nil, "", nil, err
	}
	for _, note := range s.protectedNotes(cmd.Context(), rehearsed) {
		printing.Fprintf(s.streams.ErrOut, "warning: %s\n", note)
		grants[0].Notes = append(grants[0].Notes, note)
	}
	return grants, roles.Name(rehearsed[0]), changed, nil
}

func printGrants(out io.Writer, format *output.Flag, grants []roles.Grant, name string, subjects []rbacv1.Subject) error {
	var objects []any
	for i := range grants {
		contents, err := roles.Contents(grants[i].Objects(name, subjects))
		if err != nil {
			return err
		}
		objects = append(objects, contents...)
	}
	if format.Is("yaml") {
		for i := range grants {
			for _, n := range grants[i].Notes {
				if err := printing.Comment(out, n); err != nil {
					return err
				}
			}
		}
		return printing.YAML(out, objects...)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	return format.Print(out, list, func(page *printing.Page) error {
		var rows [][]string
		for _, g := range grants {
			for _, r := range g.Rules {
				rows = append(rows, []string{orNone(g.Namespace), qualifiedAll(r), orNone(strings.Join(r.ResourceNames, ",")),
					strings.Join(r.Verbs, " ")})
			}
		}
		return page.Table([]string{"NAMESPACE", "RESOURCES", "NAMES", "VERBS"}, rows)
	})
}

func qualifiedAll(r rbacv1.PolicyRule) string { return qualified(r.Resources, r.APIGroups) }

// qualified returns a text with the resources and their groups, such as deployments.apps/status.
func qualified(resources, groups []string) string {
	var out []string
	for _, resource := range resources {
		out = append(out, kinds.Qualified(strings.Join(groups, "|"), resource))
	}
	return strings.Join(out, ",")
}
