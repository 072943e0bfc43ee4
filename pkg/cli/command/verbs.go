// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/output"
	"kube-granular.dev/pkg/included"
)

// verbEntry is one permission verb of a cluster.
type verbEntry struct {
	Verb     string `json:"verb"`
	Excluded bool   `json:"excluded"`
	// Meaning is a description of the verb. It is known only for built-in permissions.
	Meaning string `json:"meaning,omitempty"`
	// Resources are the resources that have fields with the verb.
	Resources []string `json:"resources"`
	// Fields are the paths of the fields that the verb covers, without duplicates.
	Fields []string `json:"fields,omitempty"`
	// Protects is the object that protects a label or an annotation and requires the verb for it,
	// such as clusterprotectedattribute/NAME. It is empty for the verbs of fields.
	Protects string `json:"protects,omitempty"`
}

func newVerbs(s *options) *cobra.Command {
	var format output.Flag
	var resources []string
	var excluded bool
	cmd := &cobra.Command{
		Use:   "verbs",
		Short: "List the permission verbs of the cluster",
		Long: `List the permission verbs of the cluster, with the resources that have them. The list
includes the verbs of custom resources and of protected labels and annotations.

Excluded verbs are not part of create, update and patch: a caller that holds those needs the
excluded verbs as well.`,
		Example: indentExamples(`
			# All verbs
			kubectl granular verbs

			# The verbs of pods and nodes, with the fields
			kubectl granular verbs --resource pods,nodes -o wide

			# The verbs that are not part of update
			kubectl granular verbs --excluded`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format.Validate(); err != nil {
				return err
			}
			c, err := s.cluster()
			if err != nil {
				return err
			}
			all, err := namedKinds(cmd, c, resources)
			if err != nil {
				return err
			}
			entries, err := verbsOf(c, all)
			if err != nil {
				return err
			}
			protected, err := s.protectedVerbs(cmd.Context())
			if err != nil {
				warn(cmd, err)
			}
			if len(resources) == 0 {
				entries = append(entries, protected...)
			}
			if excluded {
				entries = slices.DeleteFunc(entries, func(e verbEntry) bool { return !e.Excluded })
			}
			return format.Print(s.streams.Out, entries, func(page *printing.Page) error { return verbsTable(page, entries) })
		},
	}
	format.AddTo(cmd)
	cmd.Flags().StringSliceVar(&resources, "resource", nil, "list only the verbs of these resources")
	cmd.Flags().BoolVar(&excluded, "excluded", false, "list only verbs that are not part of update")
	_ = cmd.RegisterFlagCompletionFunc("resource", func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.resources(begun), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

// verbsOf returns the permission verbs of kinds and of their subresources.
func verbsOf(c *kinds.Cluster, all []*kinds.Kind) ([]verbEntry, error) {
	entries := map[string]*verbEntry{}
	for _, k := range all {
		trees := map[string]*schema.Tree{}
		for _, r := range k.Grantable() {
			trees[r] = k.Tree
		}
		for _, sub := range k.Subresources {
			if sub.Kind != k.Kind {
				tree, err := c.TreeOf(k, sub.Name)
				if err != nil {
					return nil, err
				}
				trees[k.Resource.Resource+"/"+sub.Name] = tree
			}
		}
		for _, r := range slices.Sorted(maps.Keys(trees)) {
			if err := addVerbs(entries, kinds.Qualified(k.Resource.Group, r), trees[r]); err != nil {
				return nil, err
			}
		}
	}
	var out []verbEntry
	for _, verb := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, *entries[verb])
	}
	return out, nil
}

func addVerbs(entries map[string]*verbEntry, resource string, tree *schema.Tree) error {
	for _, info := range tree.Permissions() {
		verb := kinds.VerbOf(info.Permission)
		e := entries[verb]
		if e == nil {
			e = &verbEntry{Verb: verb}
			known, err := registry.Lookup(info.Name)
			if err != nil {
				return err
			}
			if known != nil {
				e.Meaning = known.Meaning
			}
			entries[verb] = e
		}
		e.Excluded = e.Excluded || info.Excluded
		if !slices.Contains(e.Resources, resource) {
			e.Resources = append(e.Resources, resource)
		}
		if !slices.Contains(e.Fields, info.Pattern) {
			e.Fields = append(e.Fields, info.Pattern)
		}
	}
	return nil
}

func verbsTable(page *printing.Page, entries []verbEntry) error {
	header := []string{"VERB", "PART OF UPDATE", "RESOURCES", "MEANING"}
	if page.Wide() {
		header = []string{"VERB", "PART OF UPDATE", "RESOURCES", "FIELDS", "MEANING"}
	}
	var rows [][]string
	for _, e := range entries {
		resources := strings.Join(e.Resources, " ")
		if !page.Wide() && len(e.Resources) > 1 {
			resources = fmt.Sprintf("%d resources", len(e.Resources))
		}
		meaning := e.Meaning
		if e.Protects != "" {
			meaning = e.Protects
		}
		row := []string{e.Verb, yesNo(!e.Excluded), resources, meaning}
		if page.Wide() {
			row = []string{e.Verb, yesNo(!e.Excluded), resources, strings.Join(e.Fields, " "), meaning}
		}
		rows = append(rows, row)
	}
	return page.Table(header, rows)
}

// verbs returns the completions of a verb. begun is the part that the user has typed.
func (s *options) verbs(begun string) []string {
	c, err := s.quietCluster()
	if err != nil {
		return nil
	}
	all, _ := c.All()
	entries, err := verbsOf(c, all)
	if err != nil {
		return nil
	}
	out := []string{"create", "update", "patch", included.MetadataVerb, permission.General}
	for _, e := range entries {
		verb, _, parameterized := strings.Cut(e.Verb, "<")
		if parameterized {
			verb = strings.TrimSuffix(verb, "(") + "("
		}
		out = append(out, verb)
	}
	return withPrefix(out, begun)
}
