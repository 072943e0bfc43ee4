// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/config"
	"kube-granular.dev/tenancy/internal/grants"
	"kube-granular.dev/tenancy/internal/names"
)

// patience is how long install waits for the API server to apply the policies. It takes some seconds.
const patience = 2 * time.Minute

// newManifestsCommands returns the commands that print and apply the manifests.
func newManifestsCommands() []*cobra.Command {
	o := config.Options{}
	var kubeconfig string
	var sudo grants.SudoMode
	readSudo := func(*cobra.Command, []string) error {
		o.SudoByDelegation = sudo == grants.Delegation
		return validateSudo(sudo)
	}
	show := &cobra.Command{
		Use:     "manifests",
		Short:   "Print the manifests that a cluster needs before the controller can run",
		Args:    cobra.NoArgs,
		PreRunE: readSudo,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return config.Write(cmd.OutOrStdout(), o)
		},
	}
	install := &cobra.Command{
		Use:     "install",
		Short:   "Apply the manifests that a cluster needs before the controller can run, and wait until the API server serves LNamespaces",
		Args:    cobra.NoArgs,
		PreRunE: readSudo,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return install(cmd.Context(), kubeconfig, o, cmd.OutOrStdout())
		},
	}
	for _, c := range []*cobra.Command{show, install} {
		c.Flags().BoolVar(&o.FieldPermissions, "field-permissions", false, "the API server authorizes single fields")
		c.Flags().StringVar((*string)(&sudo), "sudo", string(grants.Impersonation),
			"how sudoers use sudo: Impersonation or Delegation; the command run needs the same value")
		c.Flags().StringVar(&o.ViewFor, "view-for", config.Everybody,
			"group that may view everything in all namespaces but secrets; "+config.Nobody+" means no group")
		c.Flags().StringVar(&o.CreateFor, "create-for", config.Everybody, "group that may create LNamespaces; "+config.Nobody+" means no group")
		c.Flags().StringVar(&o.WebhookURL, "webhook-url", "",
			"URL at which the API server calls the webhooks of a controller outside the cluster, such as https://127.0.0.1:9443; empty installs no webhooks")
	}
	install.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use")
	return []*cobra.Command{show, install, newUninstallCommand()}
}

// install applies the manifests by server-side apply, and then waits until the API server serves
// LNamespaces and writes down who creates one. To install a second time is safe. At the end, it prints what it grants to whom.
func install(ctx context.Context, kubeconfig string, o config.Options, out io.Writer) error {
	objects, err := config.Objects(o)
	if err != nil {
		return err
	}
	api, err := newClient(kubeconfig, nil)
	if err != nil {
		return err
	}
	for _, object := range o.Unwanted() {
		if err := client.IgnoreNotFound(api.Delete(ctx, object)); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	for _, object := range objects {
		if err := api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("tenancy-controller-install"),
			client.ForceOwnership); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		printing.Fprintf(out, "%s %s\n", object.GetKind(), object.GetName())
	}
	if err := awaitForce(ctx, api); err != nil {
		return err
	}
	for _, grant := range o.Grants() {
		printing.Fprintf(out, "%s\n", grant)
	}
	return nil
}

// awaitForce waits until the API server serves LNamespaces and applies the policy for new ones.
func awaitForce(ctx context.Context, api client.Client) error {
	var missing error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		missing = api.List(ctx, &v1alpha1.LNamespaceList{}, client.Limit(1))
		if missing != nil && !apierrors.IsNotFound(missing) && ctx.Err() == nil {
			return false, missing
		}
		return missing == nil && inForce(ctx, api), nil
	})
	switch {
	case !wait.Interrupted(err):
		return err
	case missing != nil:
		return fmt.Errorf("LNamespace: not served: %w", missing)
	}
	return fmt.Errorf("MutatingAdmissionPolicy lnamespace-creation: not in force, a new LNamespace gets no creator; "+
		"check that the API server's admission plugin MutatingAdmissionPolicy is on: %w", err)
}

// inForce reports whether the API server applies the policy for new LNamespaces. For some seconds after a policy was
// created, the server knows nothing of it and a new object gets no creator; then it may lack the schema for it and
// refuse new objects. Another error comes from what decides after the policy, such as a webhook that does not run yet.
func inForce(ctx context.Context, api client.Client) bool {
	attempt := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "install-"}}
	if err := api.Create(ctx, attempt, client.DryRunAll); err != nil {
		return !apierrors.IsServiceUnavailable(err)
	}
	return attempt.Annotations[names.Creator] != ""
}
