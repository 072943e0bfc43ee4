// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/api/printing"
	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// ErrRefused is the error if a namespace was refused, or could not be handed over. The others were.
var ErrRefused = errors.New("not all namespaces were adopted")

// need is a right that a step needs.
type need struct{ verb, group, resource, subresource string }

// The rights that the steps need. Who may write the status of every LNamespace is an administrator of
// tenants; a policy asks for that, too.
var (
	applyNeeds = []need{
		{"update", v1alpha1.GroupVersion.Group, "lnamespaces", "status"},
		{"create", v1alpha1.GroupVersion.Group, "lnamespaces", ""},
		{"patch", "", "namespaces", ""},
	}
	confirmNeeds = []need{{"delete", rbacv1.GroupName, "rolebindings", ""}}
)

// checkNeeds returns an error that names what the caller may not do, before anything is written.
func checkNeeds(ctx context.Context, api client.Client, needs []need) error {
	var missing []error
	for _, n := range needs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: n.verb, Group: n.group, Resource: n.resource, Subresource: n.subresource},
		}}
		if err := api.Create(ctx, review); err != nil {
			return fmt.Errorf("ask what you may do: %w", err)
		}
		if !review.Status.Allowed {
			what := n.resource
			if n.subresource != "" {
				what += "/" + n.subresource
			}
			missing = append(missing, fmt.Errorf("this step needs the verb %s on all %s, which you do not have", n.verb, what))
		}
	}
	return errors.Join(missing...)
}

// Apply creates the LNamespaces of a plan, and hands the namespaces over to them. It goes on after an
// error with one namespace, and prints a line for each.
func (p *Plan) Apply(ctx context.Context, api client.Client, out io.Writer) error {
	if err := checkNeeds(ctx, api, applyNeeds); err != nil {
		return err
	}
	count := map[State]int{}
	for i := range p.Namespaces {
		n := &p.Namespaces[i]
		result := n.State
		var err error
		if n.State == Adopt {
			if err = n.handOver(ctx, api); err == nil {
				result = Adopted
			} else if ctx.Err() != nil {
				return fmt.Errorf("stopped at the namespace %q, after %d of %d: %w; repeat the command to go on",
					n.Name, i, len(p.Namespaces), ctx.Err())
			} else {
				result, n.Reason = Refused, err.Error()
			}
		}
		count[result]++
		switch {
		case result == Refused:
			err = printing.Fprintf(out, "namespace/%s refused: %s\n", n.Name, n.Reason)
		case n.State == Adopted:
			err = printing.Fprintf(out, "namespace/%s adopted already\n", n.Name)
		default:
			err = printing.Fprintf(out, "namespace/%s adopted\n", n.Name)
		}
		if err != nil {
			return err
		}
	}
	if err := printing.Fprintf(out, "%d adopted, %d refused\n", count[Adopted], count[Refused]); err != nil {
		return err
	}
	if count[Refused] > 0 {
		return ErrRefused
	}
	return nil
}

// handOver creates the LNamespace, if it is not there, and hands the namespace over to it. It looks at
// both again, because the plan may be older than what somebody else did.
func (n *Namespace) handOver(ctx context.Context, api client.Client) error {
	if !n.exists {
		if err := api.Create(ctx, n.tenant.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create LNamespace %q: %w", n.Name, err)
		}
	}
	t := &v1alpha1.LNamespace{}
	if err := api.Get(ctx, client.ObjectKey{Name: n.Name}, t); err != nil {
		return fmt.Errorf("read LNamespace %q: %w", n.Name, err)
	}
	compare := differs
	if n.former != "" {
		compare = mismatch
	}
	if field := compare(t.Spec, n.Spec); field != "" {
		return fmt.Errorf("LNamespace %q: %s is not as planned; somebody else or a webhook wrote it; "+
			"set it as planned, or delete the LNamespace, and repeat the command", n.Name, field)
	}
	if len(t.OwnerReferences) > 0 {
		return fmt.Errorf("LNamespace %q: metadata.ownerReferences is not empty; somebody else wrote it", n.Name)
	}
	ns := &metav1.PartialObjectMetadata{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := api.Get(ctx, client.ObjectKey{Name: n.Name}, ns); err != nil {
		return fmt.Errorf("read namespace %q: %w", n.Name, err)
	}
	if ns.DeletionTimestamp != nil {
		return fmt.Errorf("namespace %q is being deleted", n.Name)
	}
	if ns.UID != n.uid {
		return fmt.Errorf("namespace %q: metadata.uid is not as planned; somebody made it again", n.Name)
	}
	if reason := foreign(ns, t, n.former); reason != "" {
		return fmt.Errorf("namespace %q: %s", n.Name, reason)
	}
	// The version keeps a namespace that somebody else took, or made again, in the meantime.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": ns.UID, "resourceVersion": ns.ResourceVersion, "annotations": map[string]string{names.AdoptedBy: string(t.UID)},
	}})
	if err != nil {
		return err
	}
	if err := api.Patch(ctx, ns, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("hand over namespace %q: %w", n.Name, err)
	}
	return nil
}

// Confirm deletes the old bindings of a plan that the tenants cover. It goes on after an error with one
// binding, and prints a line for each.
func (p *Plan) Confirm(ctx context.Context, api client.Client, out io.Writer) error {
	if err := checkNeeds(ctx, api, confirmNeeds); err != nil {
		return err
	}
	deleted, stay, failed := 0, 0, 0
	for i := range p.Namespaces {
		n := &p.Namespaces[i]
		if n.State != Adopted {
			failed++
			if err := printing.Fprintf(out, "namespace/%s skipped: it is not adopted\n", n.Name); err != nil {
				return err
			}
			continue
		}
		for _, b := range n.Bindings {
			result := "deleted"
			if b.Stays == "" {
				object := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: b.Name}}
				// A binding that somebody changed after the plan was not compared.
				err := api.Delete(ctx, object, client.Preconditions{UID: &b.uid, ResourceVersion: &b.version})
				switch {
				case ctx.Err() != nil:
					return fmt.Errorf("stopped at RoleBinding %s/%s: %w; repeat the command to go on", n.Name, b.Name, ctx.Err())
				case err != nil && !apierrors.IsNotFound(err):
					failed++
					result = "not deleted: " + err.Error()
				default:
					deleted++
				}
			} else {
				stay++
				result = "stays: " + b.Stays
				if b.Stays == notReady {
					failed++
				}
			}
			if err := printing.Fprintf(out, "rolebinding/%s in %s %s\n", b.Name, n.Name, result); err != nil {
				return err
			}
		}
	}
	if err := printing.Fprintf(out, "%d deleted, %d stay\n", deleted, stay); err != nil {
		return err
	}
	if failed > 0 {
		return errors.New("not all namespaces were confirmed: repeat the command when the reasons above are gone")
	}
	return nil
}
