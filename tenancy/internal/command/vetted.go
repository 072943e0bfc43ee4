// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/internal/vetting"
)

func newVettedCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "vetted", Short: "Show what users of tenants may do, or compare it with a list that somebody has reviewed"}
	var kubeconfig string
	show := &cobra.Command{
		Use:   "show",
		Short: "Print what the roles edit and admin allow in the cluster, and its API resources",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := vettedList(cmd, kubeconfig)
			if err != nil {
				return err
			}
			return printing.YAML(cmd.OutOrStdout(), l)
		},
	}
	compare := &cobra.Command{
		Use:   "compare FILE",
		Short: "List what users may do in the cluster in addition to the vetted list in FILE, and fail if there is anything",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			vetted := vetting.List{}
			if err := yaml.UnmarshalStrict(text, &vetted); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			l, err := vettedList(cmd, kubeconfig)
			if err != nil {
				return err
			}
			gains := vetting.Gains(vetted, l)
			for _, gain := range gains {
				printing.Fprintf(cmd.OutOrStdout(), "%s\n", gain)
			}
			if len(gains) > 0 {
				return fmt.Errorf("%d differences from the vetted list", len(gains))
			}
			return nil
		},
	}
	for _, c := range []*cobra.Command{show, compare} {
		c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use")
		cmd.AddCommand(c)
	}
	return cmd
}

func vettedList(cmd *cobra.Command, kubeconfig string) (vetting.List, error) {
	config, err := restConfig(kubeconfig)
	if err != nil {
		return vetting.List{}, err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return vetting.List{}, err
	}
	version, err := api.Discovery().ServerVersion()
	if err != nil {
		return vetting.List{}, err
	}
	_, resources, err := api.Discovery().ServerGroupsAndResources()
	if err != nil {
		return vetting.List{}, fmt.Errorf("discovery: %w", err)
	}
	var roles []rbacv1.ClusterRole
	for _, name := range vetting.Roles {
		role, err := api.RbacV1().ClusterRoles().Get(cmd.Context(), name, metav1.GetOptions{})
		if err != nil {
			return vetting.List{}, err
		}
		roles = append(roles, *role)
	}
	return vetting.NewList(version.GitVersion, resources, roles), nil
}
