// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/tenancy/internal/kubectl"
)

func newAccount(o *options) *cobra.Command {
	c := &changer{options: o}
	cmd := &cobra.Command{
		Use:   "account NAME ACCOUNT",
		Short: "Set the account that pays for a tenant",
		Long: `Set the account that pays for a tenant.

From the change on, the new account pays. The billing labels stay as they are.`,
		Example: `  # Account 4711 pays for the tenant books
  kubectl lns account books 4711`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: o.complete(o.completeName, o.completeAccount),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[1] == "" {
			return kubectl.UsageError(cmd, fmt.Errorf("the account is empty"))
		}
		return c.run(cmd, args[0], func(object *unstructured.Unstructured) ([]operation, error) {
			path := []string{"spec", "billing", "account"}
			account, _, err := unstructured.NestedString(object.Object, path...)
			if err != nil || account == args[1] {
				return nil, err
			}
			return setField(object, args[1], path...), nil
		})
	}
	c.addFlags(cmd)
	return cmd
}
