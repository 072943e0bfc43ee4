// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/included"
)

func newWhoCan(s *options) *cobra.Command {
	var format output.Flag
	var subresource string
	cmd := &cobra.Command{
		Use:   "who-can VERB RESOURCE[/NAME]",
		Short: "List who holds a verb, and who lacks only a part",
		Long: `List the subjects that hold a verb, and those that lack only a part of the permission, by RBAC's roles
and bindings.

A subject needs the verb granular on the same resource besides a permission verb. The list
begins with subjects that hold both, or a more general permission. If the fields are part of
update, the subjects that hold update or patch come next. The last ones lack something: the verb
granular, or the right namespace, name or subresource.

Delegates, subjects of roles that protected labels and annotations require, and the group
system:masters are listed too. Subjects that can grant the permission to themselves, because they
hold escalate or bind, are listed as holders that lack something.

RESOURCE may also be users, groups, uids, userextras or signers, which no server serves but which
roles name.

For the verb readmetadata, the list also has the subjects that read whole objects.

The command asks only RBAC, because other authorizers can't list whom they allow.`,
		Example: indentExamples(`
			# Who may scale deployments?
			kubectl granular who-can granular:replicas deployments

			# Who may set labels of one domain on this deployment?
			kubectl granular who-can 'granular:label(super.safe.com)' deployments/web

			# Who may list Secrets without their data, and who reads the data?
			kubectl granular who-can readmetadata secrets

			# Who may set a condition?
			kubectl granular who-can 'granular:condition(SuperSafe)' deployments --subresource status`),
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return s.verbs(begun), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return s.resources(begun), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			c, err := s.wholeCluster()
			if err != nil {
				return err
			}
			resource, name, _ := strings.Cut(args[1], "/")
			if name == "status" || name == "scale" {
				return fmt.Errorf("%s: the part after the slash must be a name; for a subresource use --subresource %s", args[1], name)
			}
			if args[0] == included.MetadataVerb && subresource != "" {
				return fmt.Errorf("the verb %s is for whole resources, not for the subresource %s", args[0], subresource)
			}
			wanted := identityQuery(args[0], resource, subresource, name)
			if wanted == nil {
				k, tree, err := fieldsOf(c, args[0], resource, subresource)
				if err != nil {
					return err
				}
				if wanted, err = queryFor(args[0], k, tree); err != nil {
					return err
				}
				namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
				if err != nil {
					return err
				}
				wanted.Target = access.Target{Group: k.Resource.Group, Version: k.Resource.Version, Resource: k.Resource.Resource,
					Subresource: subresource, Name: name}
				if k.Namespaced {
					wanted.Namespace = namespace
				}
			}
			s.addProtected(cmd.Context(), wanted)
			s.addDelegations(cmd.Context(), wanted)
			rbac, err := s.rbac(cmd.Context())
			if err != nil {
				return err
			}
			found := rbac.WhoCan(*wanted)
			if err := format.Print(s.streams.Out, found, func(page *printing.Page) error { return holdersTable(page, found) }); err != nil {
				return err
			}
			if !slices.ContainsFunc(found, func(h access.Holder) bool { return h.Can }) {
				printing.Fprintf(s.streams.ErrOut, "No subject can %s on %s.\n", args[0], args[1])
			}
			return nil
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringVar(&subresource, "subresource", "", "the subresource, such as status or scale")
	return cmd
}

// fieldsOf returns a kind and the permission tree of one of its subresources. Who holds an ordinary verb
// can be asked on every server, so for such a verb the tree is nil if the server publishes no permissions.
func fieldsOf(c *kinds.Cluster, verb, resource, subresource string) (*kinds.Kind, *schema.Tree, error) {
	k, err := c.Lookup(resource, "")
	if errors.Is(err, kinds.ErrNoPermissions) && ordinary(verb) {
		k, err = c.Served(resource)
		return k, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	tree, err := c.TreeOf(k, subresource)
	return k, tree, err
}

func holdersTable(page *printing.Page, found []access.Holder) error {
	header := []string{"SUBJECT", "CAN", "VERB", "BINDING", "NOTE"}
	if page.Wide() {
		header = []string{"SUBJECT", "CAN", "VERB", "BINDING", "ROLE", "NOTE"}
	}
	var rows [][]string
	for _, h := range found {
		row := []string{h.Subject, yesNo(h.Can), h.Verb, h.Binding, h.But}
		if page.Wide() {
			row = []string{h.Subject, yesNo(h.Can), h.Verb, h.Binding, h.Role, h.But}
		}
		rows = append(rows, row)
	}
	return page.Grouped(1, header, rows)
}
