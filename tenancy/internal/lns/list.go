// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/pager"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
)

func newList(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tenants of the cluster",
		Example: `  # All tenants: how many people, who pays, and what is left over
  kubectl lns list`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		api, err := o.tenants()
		if err != nil {
			return err
		}
		list, err := all(cmd.Context(), api)
		if err != nil {
			return err
		}
		if done, err := o.document(cmd, list.UnstructuredContent()); done || err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return printing.Fprintf(cmd.ErrOrStderr(), "The cluster has no tenants.\n")
		}
		page := printing.NewPage(cmd.OutOrStdout(), o.output == "wide")
		table := page.Begin("NAME", "READY", "USERS", "MANAGERS", "SUDOERS", "ACCOUNT", "LEFTOVERS", "AGE")
		for i := range list.Items {
			t, err := typed(&list.Items[i])
			if err != nil {
				return err
			}
			if err := table.Row(t.Name, ready(t), count(t.Spec.Users), count(t.Spec.Managers), count(t.Spec.Sudoers),
				t.Spec.Billing.Account, count(t.Status.Leftovers), age(t.CreationTimestamp)); err != nil {
				return err
			}
		}
		if err := table.Flush(); err != nil {
			return err
		}
		return page.Close()
	}
	o.addOutput(cmd, true)
	return cmd
}

// all returns all LNamespaces, which it reads in pages.
func all(ctx context.Context, api dynamic.ResourceInterface) (*unstructured.UnstructuredList, error) {
	result := &unstructured.UnstructuredList{}
	result.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("LNamespaceList"))
	err := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return api.List(ctx, options)
	}).EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		item, ok := object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("the server returned a list with a %T", object)
		}
		result.Items = append(result.Items, *item)
		return nil
	})
	return result, explained(err)
}

// typed returns the LNamespace that an object of the server is.
func typed(object *unstructured.Unstructured) (*v1alpha1.LNamespace, error) {
	t := &v1alpha1.LNamespace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, t); err != nil {
		return nil, fmt.Errorf("LNamespace %q: %w", object.GetName(), err)
	}
	return t, nil
}

// ready returns the condition Ready, or the reason why it is not True.
func ready(t *v1alpha1.LNamespace) string {
	c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case t.DeletionTimestamp != nil:
		return "being deleted"
	case c == nil:
		return "unknown"
	case c.Status == metav1.ConditionTrue && c.ObservedGeneration == t.Generation:
		return "yes"
	case c.Status == metav1.ConditionTrue:
		return "not yet"
	}
	return "no: " + c.Reason
}

func count[T any](list []T) string { return fmt.Sprint(len(list)) }

func age(since metav1.Time) string { return duration.HumanDuration(time.Since(since.Time)) }
