// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/fieldplan"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/output"
)

func newFieldPermission(s *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "field-permission",
		Short: "See what a FieldPermission would do, before it exists",
		Long: `See what a FieldPermission would do, before it exists.

A FieldPermission gives fields of a resource permissions of their own. An excluded one is not part of
update: who holds update alone can't change the field any more.`,
		Args: cobra.NoArgs,
		Run:  func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	cmd.AddCommand(newFieldPermissionPlan(s))
	return cmd
}

func newFieldPermissionPlan(s *options) *cobra.Command {
	var format output.Flag
	var file string
	var logs auditLogs
	cmd := &cobra.Command{
		Use:   "plan -f FILE [--audit-log LOG]",
		Short: "Show whom a FieldPermission stops, whom not, and who writes its fields",
		Long: `Show whom a FieldPermission stops, whom not, and who writes its fields.

The plan begins with the subjects that no exclusion stops: those with every verb on the resource, those
that may bypass FieldPermissions, and the group system:masters. For each entry, it lists who is stopped,
who holds a verb that covers the field, and the clients that own the field in live objects, by their
metadata.managedFields. It names the clients that update such objects and do not own an excluded field:
a client that does not know the field removes it, and is refused then. With --audit-log, it lists whose
requests in the log the exclusions would have refused. It also names the webhooks and mutating policies
of the API that may change the objects, because what they set is the change of nobody. It can't see those
that the server reads from files.

Exclusions count as in mode Enforce, also if the file has mode Audit. The last lines are the server's own
answer to a dry run. Nothing is written.

The plan asks only RBAC, because other authorizers can't list whom they allow. The exit code is 1 if the
server refuses the object.`,
		Example: indentExamples(`
			# Whom would this stop?
			kubectl granular field-permission plan -f applications.yaml

			# Whom would it have stopped last week?
			kubectl granular field-permission plan -f applications.yaml --audit-log audit.log --since 168h`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			if file == "" {
				return errors.New("the file is missing: plan -f FILE, or -f - for standard input")
			}
			wanted, err := s.readFieldPermissions(file)
			if err != nil {
				return err
			}
			var plans []*fieldplan.Plan
			for _, p := range wanted {
				plan, err := s.planFieldPermission(cmd, p, &logs)
				if err != nil {
					return err
				}
				plans = append(plans, plan)
			}
			if err := format.Print(s.streams.Out, plans, func(page *printing.Page) error {
				for i, plan := range plans {
					if i > 0 {
						printing.Fprintf(page, "\n")
					}
					if err := plan.Print(page); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				return err
			}
			if slices.ContainsFunc(plans, (*fieldplan.Plan).Refused) {
				return ErrNo
			}
			return logs.complete()
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringSliceVar(&logs.files, "audit-log", nil, "audit logs of the server, with the level RequestResponse")
	logs.addSince(cmd, "with --audit-log: ")
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the file with one or more FieldPermissions; - is standard input")
	return cmd
}

// readFieldPermissions returns the FieldPermissions of a file.
func (s *options) readFieldPermissions(file string) ([]*v1alpha1.FieldPermission, error) {
	data, err := s.read(file)
	if err != nil {
		return nil, err
	}
	var out []*v1alpha1.FieldPermission
	err = manifest.Each(file, data, func(o *manifest.Object) error {
		if o.Kind != "FieldPermission" || o.GroupVersionKind().Group != v1alpha1.GroupName {
			return nil
		}
		p := &v1alpha1.FieldPermission{}
		if err := o.Decode(p); err != nil {
			return err
		}
		v1alpha1.SetObjectDefaults_FieldPermission(p)
		out = append(out, p)
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s has no FieldPermission", file)
	}
	return out, err
}
