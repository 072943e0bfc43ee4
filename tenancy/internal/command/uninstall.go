// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/config"
	"kube-granular.dev/tenancy/internal/names"
)

// newUninstallCommand returns the command uninstall. Deleting the manifests instead leaves LNamespaces
// that nobody can delete, because the controller that removes their finalizers is gone.
func newUninstallCommand() *cobra.Command {
	u := uninstaller{}
	var kubeconfig string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Delete all LNamespaces, and then everything that the command install and the controller created; the namespaces of tenants stay",
		Long: "Delete all LNamespaces, and then everything that the command install and the controller created. The controller must " +
			"run meanwhile: it revokes the permissions of people and writes the last bills. The namespaces of tenants stay with their " +
			"contents, unless the flag --delete-namespaces is given.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if u.api, err = newClient(kubeconfig, nil); err != nil {
				return err
			}
			u.out = cmd.OutOrStdout()
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return u.run(ctx)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig to use")
	cmd.Flags().BoolVar(&u.deleteNamespaces, "delete-namespaces", false, "also delete the namespaces of tenants, as spec.deletionPolicy says")
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "how long to wait for the controller")
	return cmd
}

// uninstaller removes the controller of tenants from a cluster.
type uninstaller struct {
	api              client.Client
	out              io.Writer
	deleteNamespaces bool
}

// run deletes the LNamespaces while the controller runs, then the definition and what grants
// permissions to the controller, and then everything else. To run it again after an error is safe.
func (u uninstaller) run(ctx context.Context) error {
	creators := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: config.CreateBinding}}
	if err := client.IgnoreNotFound(u.api.Delete(ctx, creators)); err != nil {
		return fmt.Errorf("stop the creation of LNamespaces: %w", err)
	}
	if err := u.deleteTenants(ctx); err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	definition.SetName(names.Definition)
	// The policy that guards the definition sees a moment later that there are no LNamespaces.
	err := until(ctx, func() (bool, error) {
		err := u.api.Delete(ctx, definition)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if apierrors.IsForbidden(err) {
			return false, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("delete the definition of LNamespaces: %w", err)
	}
	objects, err := config.Objects(config.Options{SudoByDelegation: true, WebhookURL: "https://127.0.0.1"})
	if err != nil {
		return err
	}
	slices.Reverse(objects)
	// Without this binding, the controller can't create again what is deleted.
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	// A role can come back: Kubernetes applies aggregated roles, and the controller its own, until they
	// see what was deleted.
	if err := until(ctx, func() (bool, error) { return u.deleteRound(ctx, objects) }); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: controllerNamespace}}
	if err := u.api.Delete(ctx, namespace); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the namespace %s: %w", namespace.Name, err)
	}
	printing.Fprintf(u.out, "deleted Namespace %s\n", namespace.Name)
	return nil
}

// controllerNamespace is the namespace of the controller in the manifests.
const controllerNamespace = "tenancy-system"

// deleteRound deletes the objects, except the namespace of the controller, and the roles that the
// controller created. It reports whether there were none.
func (u uninstaller) deleteRound(ctx context.Context, objects []*unstructured.Unstructured) (bool, error) {
	none := true
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			continue
		}
		err := u.api.Delete(ctx, object)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("delete %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		none = false
		printing.Fprintf(u.out, "deleted %s %s\n", object.GetKind(), object.GetName())
	}
	ours := client.MatchingLabels{names.ManagedBy: names.Manager}
	for kind, list := range map[client.Object]client.ObjectList{
		&rbacv1.ClusterRoleBinding{}: &rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRole{}: &rbacv1.ClusterRoleList{},
	} {
		if err := u.api.List(ctx, list, ours); err != nil {
			return false, fmt.Errorf("list the roles of the controller: %w", err)
		}
		if meta.LenList(list) == 0 {
			continue
		}
		none = false
		if err := u.api.DeleteAllOf(ctx, kind, ours); err != nil {
			return false, fmt.Errorf("delete the roles of the controller: %w", err)
		}
	}
	return none, nil
}

// rank returns the order in which objects are deleted.
func rank(object *unstructured.Unstructured) int {
	if object.GetKind() == "ClusterRoleBinding" && object.GetName() == names.Manager {
		return 0
	}
	return 1
}

// deleteTenants deletes all LNamespaces and waits until the controller has let them go.
func (u uninstaller) deleteTenants(ctx context.Context) error {
	asked := map[string]bool{}
	left := ""
	err := until(ctx, func() (bool, error) {
		list := &v1alpha1.LNamespaceList{}
		if err := u.api.List(ctx, list); err != nil {
			if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
				return true, nil // the definition is gone
			}
			return false, fmt.Errorf("list LNamespaces: %w", err)
		}
		for i := range list.Items {
			t := &list.Items[i]
			left = t.Name
			if asked[string(t.UID)] {
				continue
			}
			if !u.deleteNamespaces && t.Spec.DeletionPolicy != v1alpha1.RetainNamespace && t.DeletionTimestamp == nil {
				before := t.DeepCopy()
				t.Spec.DeletionPolicy = v1alpha1.RetainNamespace
				if err := u.api.Patch(ctx, t, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
					return false, fmt.Errorf("retain the namespace of %s: %w", t.Name, err)
				}
			}
			if err := u.api.Delete(ctx, t, client.Preconditions{UID: &t.UID}); client.IgnoreNotFound(err) != nil {
				return false, fmt.Errorf("delete LNamespace %s: %w", t.Name, err)
			}
			asked[string(t.UID)] = true
			printing.Fprintf(u.out, "deleted LNamespace %s\n", t.Name)
		}
		return len(list.Items) == 0, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("LNamespace %s is still there: start the controller, which revokes permissions and writes the last bill, and run uninstall again", left)
	}
	return err
}

// until calls the function done every half a second until it returns true or an error.
func until(ctx context.Context, done wait.ConditionFunc) error {
	return wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, done.WithContext())
}
