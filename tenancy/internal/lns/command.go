// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/build"
	"kube-granular.dev/tenancy/internal/kubectl"
)

// resource is the resource of LNamespaces.
var resource = v1alpha1.GroupVersion.WithResource("lnamespaces")

// options are the flags of all commands.
type options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
	output    string
}

// NewCommand returns the command kubectl lns.
func NewCommand() *cobra.Command {
	o := &options{rules: clientcmd.NewDefaultClientConfigLoadingRules()}
	cmd := &cobra.Command{
		Use:   "kubectl-lns",
		Short: "Show tenants, and change their people and the account that pays",
		Long: `Show tenants, and change their people and the account that pays.

A tenant is an LNamespace: a namespace of the same name, lists of its users, managers and
sudoers, and the account that pays. kubectl create lns creates one.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lns"},
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		Run:           func(cmd *cobra.Command, _ []string) { _ = cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	fs.StringVar(&o.rules.ExplicitPath, "kubeconfig", "", "path of the kubeconfig file")
	flags := clientcmd.RecommendedConfigOverrideFlags("")
	flags.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{} // an LNamespace is in no namespace
	clientcmd.BindOverrideFlags(&o.overrides, fs, flags)
	cmd.AddCommand(newList(o), newShow(o), newAdd(o), newRemove(o), newAccount(o))
	build.AddVersion(cmd)
	kubectl.ExplainUsage(cmd)
	return cmd
}

// tenants returns a client of LNamespaces.
func (o *options) tenants() (dynamic.ResourceInterface, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, &o.overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return api.Resource(resource), nil
}

// addOutput adds the flag --output of a command that prints tables, or prints none if table is false.
func (o *options) addOutput(cmd *cobra.Command, table bool) {
	formats := "json or yaml"
	if table {
		formats = "table, wide (shortens nothing), json or yaml"
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "output format: "+formats)
	words := []string{"json", "yaml"}
	if table {
		words = append(words, "table", "wide")
	}
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch o.output {
		case "", "json", "yaml":
		case "table", "wide":
			if !table {
				return kubectl.UsageError(cmd, fmt.Errorf("--output %s: want %s", o.output, formats))
			}
		default:
			return kubectl.UsageError(cmd, fmt.Errorf("--output %s: want %s", o.output, formats))
		}
		return run(cmd, args)
	}
}

// document prints an object as JSON or YAML, and reports whether the user asked for that.
func (o *options) document(cmd *cobra.Command, object any) (bool, error) {
	switch o.output {
	case "json":
		return true, printing.JSON(cmd.OutOrStdout(), object)
	case "yaml":
		return true, printing.YAML(cmd.OutOrStdout(), object)
	}
	return false, nil
}

// explained returns an error of the server, with the reason if the server does not know LNamespaces.
func explained(err error) error {
	if apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource") {
		return fmt.Errorf("this cluster has no LNamespaces: tenancy-controller install adds them: %w", err)
	}
	return err
}
