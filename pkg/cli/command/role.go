// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/pkg/cli/changes"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

func newRole(s *options) *cobra.Command {
	var format output.Flag
	var from changeFlags
	var options roles.Options
	var name string
	var subjects []string
	var apply bool
	var audited auditLogs
	cmd := &cobra.Command{
		Use:   "role (-f FILE | RESOURCE/NAME --patch PATCH | -- kubectl ARGS... | --from-audit FILE...)",
		Short: "Make the smallest role that allows a change, or the requests in audit logs",
		Long: `Make the smallest role that allows a change, and its binding.

The command tries the change as a dry run, with your own rights. The role has the narrowest
verb for each changed field, and no verb that the change does not need. It names the object. It
also grants what a kubectl command reads.

The command prints the role, and writes it only with --apply. It does not write a role or binding
that exists with other rules or subjects, so that nobody loses anything. Changes that the user did not make,
such as additions of webhooks, need no verb.

With --from-audit, the command makes roles from audit logs: for each user, or for those that
--subject names, the smallest rules that allow what the log shows. A log of the level
RequestResponse, of any server, shows which fields a request changed. A log of the level Metadata
shows them only for requests that a kube-granular server allowed by permissions of fields. For other
requests, the role grants the ordinary verb. A comment names the requests behind each verb. If a
subject used more than 10 names of a resource, the role allows all names. If it used more than 20
namespaces, the role allows all namespaces. Requests without a resource, such as /metrics, are left
out.`,
		Example: indentExamples(`
			# Which role does scaling this deployment need?
			kubectl granular role -- kubectl scale deployment web --replicas=3

			# A role to change the images of all deployments, for a group
			kubectl granular role --any-name --subject group:builders -- kubectl set image deployment/web web=registry.example/web:2.0

			# With the most general verbs instead of the narrowest
			kubectl granular role deployments/web --wider -p '{"metadata":{"labels":{"example.com/tier":"front"}}}'

			# Write the role and its binding
			kubectl granular role --apply --name web-tier --subject user:jane deployments/web -p '{"metadata":{"labels":{"example.com/tier":"front"}}}'

			# Which rights does this service account need, judged by what it really did?
			kubectl granular role --subject serviceaccount:ci/deployer --from-audit audit.log`),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return s.objects(cmd, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if len(subjects) == 0 && *s.flags.Impersonate != "" {
				subjects = []string{*s.flags.Impersonate}
			}
			var bound []rbacv1.Subject
			for _, text := range subjects {
				subject, err := roles.ParseSubject(text)
				if err != nil {
					return fmt.Errorf("--subject: %w", err)
				}
				bound = append(bound, subject)
			}
			if len(audited.files) > 0 {
				if given := cmd.Flags().Changed; given("filename") || given("patch") || cmd.ArgsLenAtDash() >= 0 {
					return errors.New("--from-audit can't be combined with a change")
				}
				if apply && len(bound) == 0 {
					return errors.New("--apply with --from-audit needs --subject")
				}
				audited.files, audited.subjects = append(audited.files, args...), subjects
				return s.fromAudit(cmd, &audited, &format, options, name, apply)
			}
			if audited.since != "" {
				return errors.New("--since needs --from-audit")
			}
			if apply && len(bound) == 0 {
				return errors.New("--apply needs --subject: a role without a binding grants nothing")
			}
			grants, suggested, err := s.grants(cmd, &from, options, args)
			if err != nil {
				return err
			}
			if name == "" {
				name = roles.NameFor(suggested, bound, grants...)
			}
			if err := printGrants(s.streams.Out, &format, grants, name, bound); err != nil {
				return err
			}
			if len(bound) == 0 {
				fmt.Fprintln(s.streams.ErrOut, "No --subject: the role is not bound to anybody yet.")
			}
			if apply {
				return s.apply(cmd.Context(), grants, name, bound)
			}
			return nil
		},
	}
	from.addTo(cmd)
	format.AddTo(cmd)
	format.Default(cmd, "yaml")
	cmd.Flags().StringSliceVar(&subjects, "subject", nil, "who gets the role: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME; the default is the user of --as")
	cmd.Flags().StringVar(&name, "name", "", "the name of the role and its binding; the default is made from the object, the rules and the subjects")
	cmd.Flags().BoolVar(&options.Wider, "wider", false, "grant the most general verbs, not the narrowest")
	cmd.Flags().BoolVar(&options.AnyName, "any-name", false, "grant the rights for all objects of the resource, not only for the changed one")
	cmd.Flags().StringSliceVar(&audited.files, "from-audit", nil, "learn from these audit logs, plain or compressed by gzip; more files may follow as arguments; - is standard input")
	audited.addSince(cmd, "with --from-audit: ")
	cmd.Flags().BoolVar(&apply, "apply", false, "write the role and its binding to the cluster")
	return cmd
}

// grants returns the rules that are needed for the change that the flags and arguments describe,
// and the beginning of a name for the role.
func (s *options) grants(cmd *cobra.Command, from *changeFlags, options roles.Options, args []string) ([]roles.Grant, string, error) {
	changed, err := from.requests(cmd, s, args)
	if err != nil {
		return nil, "", err
	}
	var rehearsed []*changes.DryRun
	for _, request := range changed.requests {
		r, err := changed.rehearser.Run(cmd.Context(), request)
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", request.String(), err)
		}
		if !r.Sure {
			fmt.Fprintf(s.streams.ErrOut, "warning: %s: you lack the permissions for a dry run, so the role covers only the fields that the request itself names\n", request.String())
		}
		rehearsed = append(rehearsed, r)
	}
	grants, err := roles.GrantsFor(cmd.Context(), rehearsed, changed.reads, options)
	if err != nil {
		return nil, "", err
	}
	for _, note := range s.protectedNotes(cmd.Context(), rehearsed) {
		fmt.Fprintln(s.streams.ErrOut, "warning:", note)
		grants[0].Notes = append(grants[0].Notes, note)
	}
	return grants, roles.Name(rehearsed[0]), nil
}

func printGrants(out io.Writer, format *output.Flag, grants []roles.Grant, name string, subjects []rbacv1.Subject) error {
	var objects []any
	for i := range grants {
		for _, o := range grants[i].Objects(name, subjects) {
			object, err := toUnstructured(o)
			if err != nil {
				return err
			}
			objects = append(objects, object)
		}
	}
	if format.Is("yaml") {
		for i := range grants {
			for _, n := range grants[i].Notes {
				fmt.Fprintln(out, "#", printable(n))
			}
		}
		return printYAML(out, objects)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	return format.Print(out, list, func(out io.Writer) error {
		var rows [][]string
		for _, g := range grants {
			for _, r := range g.Rules {
				rows = append(rows, []string{orNone(g.Namespace), qualifiedAll(r), orNone(strings.Join(r.ResourceNames, ",")), strings.Join(r.Verbs, " ")})
			}
		}
		return output.Table(out, []string{"NAMESPACE", "RESOURCES", "NAMES", "VERBS"}, rows)
	})
}

// printYAML prints objects as YAML documents.
func printYAML(out io.Writer, objects []any) error {
	for i, o := range objects {
		data, err := yaml.Marshal(o)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(out, "---")
		}
		if _, err := out.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func qualifiedAll(r rbacv1.PolicyRule) string { return qualified(r.Resources, r.APIGroups) }

// qualified returns a text with the resources and their groups, such as deployments.apps/status.
func qualified(resources, groups []string) string {
	var out []string
	for _, resource := range resources {
		name, sub, found := strings.Cut(resource, "/")
		if g := strings.Join(groups, "|"); g != "" {
			name += "." + g
		}
		if found {
			name += "/" + sub
		}
		out = append(out, name)
	}
	return strings.Join(out, ",")
}
