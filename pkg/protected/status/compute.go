// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/protected"
)

// Bindings looks up roles and their bindings. *protected.Roles implements it.
type Bindings interface {
	Role(ref protect.Reference) (types.UID, bool)
	Bindings(ref protect.Reference) ([]*rbacv1.RoleBinding, []*rbacv1.ClusterRoleBinding, error)
}

// Compute returns the status that an attribute should have.
func Compute(a protected.Attribute, roles Bindings) (*v1alpha1.ProtectedAttributeStatus, error) {
	meta, spec, old := a.Parts()
	out := old.DeepCopy()
	out.ObservedGeneration = meta.Generation
	out.Role, out.Holders, out.HolderCount, out.EarlierBindings, out.EarlierBindingCount = nil, nil, 0, nil, 0
	if spec.RoleRef == nil {
		apimeta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionBindingsAsked)
		setAccepted(out, meta.Generation, a.InForce, "")
		return out, nil
	}
	ref := protect.Reference{Kind: spec.RoleRef.Kind, Namespace: meta.Namespace, Name: spec.RoleRef.Name}
	here, everywhere, err := roles.Bindings(ref)
	if err != nil {
		return nil, err
	}
	missing := ref.String()
	if uid, ok := roles.Role(ref); ok {
		missing = ""
		out.Role = &v1alpha1.ResolvedRole{Kind: ref.Kind, Name: ref.Name, UID: uid}
		setHolders(out, here, everywhere)
	}
	setEarlierBindings(out, askedSince(meta, old), here, everywhere)
	setAccepted(out, meta.Generation, a.InForce, missing)
	setBindingsAsked(out, meta.Generation)
	return out, nil
}

// setAccepted sets the condition Accepted in out. missing is the role of the attribute if that role
// does not exist, and empty otherwise.
func setAccepted(out *v1alpha1.ProtectedAttributeStatus, generation int64, inForce bool, missing string) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: v1alpha1.ReasonAccepted, Message: "the attribute is in effect",
	}
	switch {
	case !inForce:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonNamespaceReplaced
		condition.Message = "the attribute was made for an earlier namespace of this name, and has no effect: delete it"
	case missing != "":
		condition.Reason = v1alpha1.ReasonRoleNotFound
		condition.Message = fmt.Sprintf("the attribute is in effect, but it admits nobody, because %s does not exist", missing)
	}
	apimeta.SetStatusCondition(&out.Conditions, condition)
}

// setBindingsAsked sets the condition BindingsAsked in out. The condition is True if all bindings
// of the role are newer than the specification of the attribute, so that creating them needed the
// verb "bind".
func setBindingsAsked(out *v1alpha1.ProtectedAttributeStatus, generation int64) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionBindingsAsked, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: v1alpha1.ReasonBindingsAsked, Message: "all bindings of the role are newer than the specification, so creating them needed the verb bind on the role",
	}
	if out.EarlierBindingCount > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonEarlierBindings
		condition.Message = fmt.Sprintf("%d bindings of the role may be older than the specification, so creating them may not have needed the verb bind on the role: check whether their subjects should be admitted", out.EarlierBindingCount)
	}
	apimeta.SetStatusCondition(&out.Conditions, condition)
}

// askedSince returns the time since which a new binding of the role needs the verb "bind".
func askedSince(meta *metav1.ObjectMeta, status *v1alpha1.ProtectedAttributeStatus) time.Time {
	if status.LastChange != nil {
		return status.LastChange.Time.Time
	}
	return meta.CreationTimestamp.Time
}

// setHolders sets the holders of the role to the subjects of its bindings, each once.
func setHolders(out *v1alpha1.ProtectedAttributeStatus, here []*rbacv1.RoleBinding, everywhere []*rbacv1.ClusterRoleBinding) {
	seen := map[v1alpha1.Subject]bool{}
	add := func(namespace string, subjects []rbacv1.Subject) {
		for _, s := range subjects {
			subject := v1alpha1.Subject{Kind: s.Kind, Name: s.Name}
			if s.Kind == rbacv1.ServiceAccountKind {
				// As in RBAC, a service account without a namespace is in the namespace of the
				// binding.
				if subject.Namespace = cmp.Or(s.Namespace, namespace); subject.Namespace == "" {
					continue
				}
			}
			seen[subject] = true
		}
	}
	for _, b := range here {
		add(b.Namespace, b.Subjects)
	}
	for _, b := range everywhere {
		add("", b.Subjects)
	}
	for s := range seen {
		out.Holders = append(out.Holders, s)
	}
	slices.SortFunc(out.Holders, func(a, b v1alpha1.Subject) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out.HolderCount = int64(len(out.Holders))
	out.Holders = out.Holders[:min(len(out.Holders), v1alpha1.MaxHolders)]
}

// setEarlierBindings lists in out the bindings that may be older than the time than. A creation
// time has a precision of one second, so a binding that was created in the same second is listed
// too.
func setEarlierBindings(out *v1alpha1.ProtectedAttributeStatus, than time.Time, here []*rbacv1.RoleBinding, everywhere []*rbacv1.ClusterRoleBinding) {
	add := func(kind string, of *metav1.ObjectMeta) {
		if !of.CreationTimestamp.Time.Truncate(time.Second).After(than) {
			out.EarlierBindings = append(out.EarlierBindings, v1alpha1.BindingReference{Kind: kind, Namespace: of.Namespace, Name: of.Name})
		}
	}
	for _, b := range here {
		add("RoleBinding", &b.ObjectMeta)
	}
	for _, b := range everywhere {
		add("ClusterRoleBinding", &b.ObjectMeta)
	}
	slices.SortFunc(out.EarlierBindings, func(a, b v1alpha1.BindingReference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	out.EarlierBindingCount = int64(len(out.EarlierBindings))
	out.EarlierBindings = out.EarlierBindings[:min(len(out.EarlierBindings), v1alpha1.MaxEarlierBindings)]
}
