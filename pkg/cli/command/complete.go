// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// completeFlags adds shell completion for the values of --namespace and --context.
func (s *options) completeFlags(cmd *cobra.Command) {
	for flag, names := range map[string]func(*cobra.Command) []string{
		"namespace": s.namespaces,
		"context":   s.contexts,
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return withPrefix(names(cmd), begun), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func (s *options) contexts(*cobra.Command) []string {
	config, err := s.flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

func (s *options) namespaces(cmd *cobra.Command) []string {
	return s.names(cmd, corev1.SchemeGroupVersion.WithResource("namespaces"), false, 0)
}

// resources returns the names of resources that begin with the typed text.
func (s *options) resources(begun string) []string {
	c, err := s.quietCluster()
	if err != nil {
		return nil
	}
	return withPrefix(c.Names(), begun)
}

// fields returns the completions of a path of a field of a resource. begun is the part that the
// user has typed.
func (s *options) fields(resource, begun string) []string {
	c, err := s.quietCluster()
	if err != nil {
		return nil
	}
	k, err := c.Lookup(resource, "")
	if err != nil {
		return nil
	}
	above := ""
	if i := strings.LastIndexByte(begun, '.'); i >= 0 {
		above = begun[:i]
	}
	field, err := k.Find(above)
	if err != nil {
		return nil
	}
	for below := field.Fields(); len(below) == 1 && below[0].Name == "[*]"; below = field.Fields() {
		field = below[0]
	}
	var out []string
	for _, f := range field.Fields() {
		path := f.Name
		if above != "" {
			path = above + "." + f.Name
		}
		out = append(out, path)
	}
	return withPrefix(out, begun)
}

// completeObject completes the only argument of a command, RESOURCE/NAME.
func (s *options) completeObject(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.objects(cmd, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// objects returns the completions of an argument of the form RESOURCE/NAME. begun is the part that
// the user has typed.
func (s *options) objects(cmd *cobra.Command, begun string) []string {
	resource, name, found := strings.Cut(begun, "/")
	if !found {
		var out []string
		for _, r := range s.resources(begun) {
			out = append(out, r+"/")
		}
		return out
	}
	c, err := s.quietCluster()
	if err != nil {
		return nil
	}
	k, err := c.Lookup(resource, "")
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range s.names(cmd, k.Resource, k.Namespaced, 500) {
		if strings.HasPrefix(n, name) {
			out = append(out, resource+"/"+n)
		}
	}
	return out
}

// names returns the names of objects, and not more than limit if that is not 0.
func (s *options) names(cmd *cobra.Command, resource schema.GroupVersionResource, namespaced bool, limit int64) []string {
	client, err := connect(s.flags.ToRESTConfig, metadata.NewForConfig)
	if err != nil {
		return nil
	}
	var objects metadata.ResourceInterface = client.Resource(resource)
	if namespaced {
		namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
		if err != nil {
			return nil
		}
		objects = client.Resource(resource).Namespace(namespace)
	}
	list, err := objects.List(cmd.Context(), metav1.ListOptions{Limit: limit})
	if err != nil {
		return nil
	}
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out
}

func withPrefix(all []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, begun) })
}
