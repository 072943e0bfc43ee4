// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completer returns the words that one argument can be. args are the arguments before it.
type completer func(cmd *cobra.Command, args []string) []string

// complete returns a completion with a completer for each argument. The last one also completes the
// arguments behind it if it is for a repeated argument.
func (o *options) complete(each ...completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		i := len(args)
		if i >= len(each) {
			if i = len(each) - 1; len(each) < 3 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
		}
		words := each[i](cmd, args)
		words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, begun) || slices.Contains(args, w) })
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeName returns the names of all tenants.
func (o *options) completeName(cmd *cobra.Command, _ []string) []string {
	api, err := o.tenants()
	if err != nil {
		return nil
	}
	list, err := all(cmd.Context(), api)
	if err != nil {
		return nil
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].GetName())
	}
	return out
}

func completeList(*cobra.Command, []string) []string { return listNames() }

// completeMember returns the entries of the list that the arguments name.
func (o *options) completeMember(cmd *cobra.Command, args []string) []string {
	api, err := o.tenants()
	if err != nil {
		return nil
	}
	object, err := api.Get(cmd.Context(), args[0], metav1.GetOptions{})
	if err != nil {
		return nil
	}
	entries, err := entriesOf(object, args[1])
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range entries {
		out = append(out, text(s))
	}
	return out
}

// completeAccount returns the accounts that pay for tenants.
func (o *options) completeAccount(cmd *cobra.Command, _ []string) []string {
	api, err := o.tenants()
	if err != nil {
		return nil
	}
	list, err := all(cmd.Context(), api)
	if err != nil {
		return nil
	}
	var out []string
	for i := range list.Items {
		if t, err := typed(&list.Items[i]); err == nil && t.Spec.Billing.Account != "" {
			out = append(out, t.Spec.Billing.Account)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
