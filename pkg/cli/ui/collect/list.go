// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/cli/pages"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/cli/ui/model"
)

// what is something that is listed.
type what struct {
	// name is the value of model.Unknown.What.
	name     string
	resource string
}

// lister lists one page.
type lister[L runtime.Object] func(context.Context, metav1.ListOptions) (L, error)

// list reads all pages of a list. If it can't, this is unknown.
func list[L runtime.Object, O any](ctx context.Context, r *reader, w what, read lister[L], add func(O)) error {
	var all []O
	err := readPages(ctx, r, w, read, &all)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !r.isKnown(w, err) {
		return nil
	}
	for _, o := range all {
		add(o)
	}
	return nil
}

// namespaced is list for all namespaces. If that is forbidden, it reads only the caller's own namespace.
func namespaced[L runtime.Object, O any](ctx context.Context, r *reader, w what, read func(namespace string) lister[L], add func(O)) error {
	var all []O
	err := readPages(ctx, r, w, read(""), &all)
	if apierrors.IsForbidden(err) && r.Namespace != "" {
		all = nil
		if own := readPages(ctx, r, w, read(r.Namespace), &all); own == nil {
			r.unknown(w, err, r.Namespace)
			err = nil
		} else {
			all = nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !r.isKnown(w, err) {
		return nil
	}
	for _, o := range all {
		add(o)
	}
	return nil
}

// isKnown reports whether a list could be read, and else adds it to what is unknown. A server that does not
// serve a resource of ours has no objects of it: that is known.
func (r *reader) isKnown(w what, err error) bool {
	ours := []string{model.UnknownProtected, model.UnknownDelegations, model.UnknownSudoRequests}
	if slices.Contains(ours, w.name) && apierrors.IsNotFound(err) {
		return true
	}
	if err != nil {
		r.unknown(w, err)
	}
	return err == nil
}

// readPages reads all pages of a list.
func readPages[L runtime.Object, O any](ctx context.Context, r *reader, w what, read lister[L], all *[]O) error {
	r.step(w.resource, 0)
	return pages.Each(ctx, read, func(o O) error {
		*all = append(*all, o)
		if len(*all)%shown == 0 {
			r.step(w.resource, len(*all))
		}
		return ctx.Err()
	})
}

// shown is the number of objects after which progress is shown.
const shown = 500

func (r *reader) namespaces(ctx context.Context) error {
	r.uids = map[string]string{}
	return list(ctx, r, what{model.UnknownNamespaces, "namespaces"}, r.Core.CoreV1().Namespaces().List, func(o *corev1.Namespace) {
		r.in.Namespaces = append(r.in.Namespaces, o.Name)
		r.uids[o.Name] = string(o.UID)
	})
}

// inForce reports whether an object belongs to the namespace that exists now, and not to an earlier one with
// the same name. If that is not known, it counts.
func (r *reader) inForce(namespace string, uid types.UID) bool {
	live := r.uids[namespace]
	return namespace == "" || uid == "" || live == "" || live == string(uid)
}

func (r *reader) attributes(ctx context.Context) error {
	w := what{model.UnknownProtected, "protectedattributes"}
	client := r.Authority.AuthorityV1alpha1()
	err := list(ctx, r, w, client.ClusterProtectedAttributes().List, func(o *v1alpha1.ClusterProtectedAttribute) {
		r.in.Attributes = append(r.in.Attributes, protected.Attribute{Name: "clusterprotectedattribute/" + o.Name, Spec: &o.Spec})
	})
	if err != nil {
		return err
	}
	return namespaced(ctx, r, w, func(namespace string) lister[*v1alpha1.ProtectedAttributeList] {
		return client.ProtectedAttributes(namespace).List
	}, func(o *v1alpha1.ProtectedAttribute) {
		if r.inForce(o.Namespace, o.Status.NamespaceUID) {
			found := protected.Attribute{Name: "protectedattribute/" + o.Name, Namespace: o.Namespace, Spec: &o.Spec}
			r.in.Attributes = append(r.in.Attributes, found)
		}
	})
}

func (r *reader) delegations(ctx context.Context) error {
	w := what{model.UnknownDelegations, "authoritydelegations"}
	client := r.Authority.AuthorityV1alpha1().AuthorityDelegations()
	return list(ctx, r, w, client.List, func(o *v1alpha1.AuthorityDelegation) { r.addDelegation(o) })
}

func (r *reader) addDelegation(o *v1alpha1.AuthorityDelegation) {
	if end := o.Status.ExpirationTimestamp; end != nil && !end.After(r.Now()) || !r.inForce(o.Spec.Scope.Namespace, o.Status.NamespaceUID) {
		return
	}
	r.in.Delegations = append(r.in.Delegations, o)
}
