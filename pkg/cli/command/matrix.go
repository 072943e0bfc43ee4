// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/matrix"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/cli/roles"
)

func newMatrix(s *options) *cobra.Command {
	var format output.Flag
	var subjects, resources []string
	var all, everywhere bool
	cmd := &cobra.Command{
		Use:   "matrix",
		Short: "Show who may change which fields",
		Long: `Show who may change which fields, by the roles of the cluster.

The table lists what each subject may change. With --resource, it names the fields and the verbs that
allow it. Without it, it has the number of permissions of each resource. For one subject, and with
-o wide, the table is a matrix: a row for each permission or resource, with and without a right, and a
column for each subject.

If a subject may change a field only in
objects of some names, or only some of its keys, it has the permission in part. The command does not
ask webhooks and other authorizers, and ignores protected labels; kubectl granular can-i asks the
server.

The subjects are those of all bindings, except for the bindings that come with a cluster, whose names
begin with system:. A user also has the rights of system:authenticated, and a service account those
of its groups.

kubectl granular ui draws the matrix in the browser, and -o html writes that page.`,
		Example: indentExamples(`
			# Everybody, for all resources, in the namespace of the context
			kubectl granular matrix

			# Field by field, for some subjects
			kubectl granular matrix --resource deployments --subject user:jane --subject group:builders

			# As CSV
			kubectl granular matrix --resource deployments,services -o csv > rights.csv`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := validateFormat(&format); err != nil {
				return err
			}
			c, err := s.wholeCluster()
			if err != nil {
				return err
			}
			rows, err := namedKinds(cmd, c, resources)
			if err != nil {
				return err
			}
			namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
			if err != nil {
				return err
			}
			if everywhere {
				namespace = ""
			}
			rbac, err := s.rbac(cmd.Context())
			if err != nil {
				return err
			}
			columns, err := columnsOf(rbac, subjects, namespace, all)
			if err != nil {
				return err
			}
			if len(columns) == 0 {
				return fmt.Errorf("no binding applies to the namespace; --all includes the built-in bindings")
			}
			m := matrix.New(rows, columns, namespace)
			if format.Is("csv") {
				return m.CSV(s.streams.Out)
			}
			return format.Print(s.streams.Out, m, func(page *printing.Page) error { return m.Table(page, len(resources) == 0) })
		},
	}
	format.AddTo(cmd, "csv")
	cmd.Flags().StringSliceVar(&subjects, "subject", nil,
		"who: user:NAME, group:NAME or serviceaccount:NAMESPACE/NAME; the default is everybody who is bound")
	cmd.Flags().StringSliceVar(&resources, "resource", nil, "show each permission of these resources: deployments, services")
	cmd.Flags().BoolVar(&all, "all", false, "include the subjects of bindings that come with a cluster")
	cmd.Flags().BoolVarP(&everywhere, "all-namespaces", "A", false,
		"show what subjects may change in every namespace; rights in only some namespaces count as in part")
	_ = cmd.RegisterFlagCompletionFunc("resource", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.resources(begun), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// namedKinds returns the named kinds, or all kinds.
func namedKinds(cmd *cobra.Command, c *kinds.Cluster, resources []string) ([]*kinds.Kind, error) {
	if len(resources) == 0 {
		all, err := c.All()
		if len(all) == 0 && err != nil {
			return nil, err
		}
		warn(cmd, err)
		return all, nil
	}
	var out []*kinds.Kind
	for _, name := range resources {
		k, err := c.Lookup(name, "")
		if err != nil {
			return nil, fmt.Errorf("--resource: %w", err)
		}
		out = append(out, k)
	}
	return out, nil
}

// columnsOf returns the columns of the matrix, one for each subject that texts names. If texts is
// empty, the subjects are those of all bindings that apply to the namespace. Then bindings whose
// names begin with system: are included only if all is true.
func columnsOf(rbac *access.RBAC, texts []string, namespace string, all bool) ([]matrix.Subject, error) {
	wanted, err := roles.ParseSubjects("--subject", texts)
	if err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		for _, g := range rbac.Granted() {
			_, name, _ := strings.Cut(g.Binding, " ")
			if g.Namespace != "" && namespace != "" && g.Namespace != namespace ||
				!all && strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "system:") {
				continue
			}
			for _, subject := range g.Subjects {
				if subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == "" {
					subject.Namespace = g.Namespace
				}
				subject.APIGroup = ""
				if !slices.Contains(wanted, subject) {
					wanted = append(wanted, subject)
				}
			}
		}
	}
	var out []matrix.Subject
	for _, subject := range wanted {
		out = append(out, column(rbac, subject))
	}
	slices.SortFunc(out, func(a, b matrix.Subject) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// column returns the column of a subject: the rules that the subject holds. A user or a service
// account also holds the rules of the groups that all users or all service accounts belong to,
// such as system:authenticated.
func column(rbac *access.RBAC, subject rbacv1.Subject) matrix.Subject {
	name := strings.ToLower(subject.Kind) + ":" + subject.Name
	if subject.Kind == rbacv1.ServiceAccountKind {
		name = roles.FormatSubject(subject)
	}
	return matrix.Subject{Name: name, Held: rbac.HeldBy(access.Identity(subject))}
}
