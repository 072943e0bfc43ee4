// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"maps"
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

// Compute returns the status that an attribute should have. Whoever may read an attribute, or
// create one in a namespace, may not be allowed to read ClusterRoleBindings. So the status of an
// attribute in a namespace counts the subjects of these, but does not name them.
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
		all := holdersOf(here, everywhere)
		out.HolderCount = int64(len(all))
		if meta.Namespace != "" {
			all = holdersOf(here, nil)
		}
		out.Holders = all[:min(len(all), v1alpha1.MaxHolders)]
	}
	earlier := earlierBindings(askedSince(meta, old), here, everywhere)
	out.EarlierBindingCount = int64(len(earlier))
	if meta.Namespace != "" {
		earlier = earlierBindings(askedSince(meta, old), here, nil)
	}
	out.EarlierBindings = earlier[:min(len(earlier), v1alpha1.MaxEarlierBindings)]
	setAccepted(out, meta.Generation, a.InForce, missing)
	unasked := len(everywhere)
	if meta.Namespace == "" { // the attribute requires the verb for ClusterRoleBindings
		unasked = 0
	}
	setBindingsAsked(out, meta.Generation, unasked)
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

// setBindingsAsked sets the condition BindingsAsked in out. The condition is True if creating the
// bindings of the role needed the verb "bind". unasked is the number of those bindings for which it
// is never needed because of this attribute: ClusterRoleBindings, if the attribute is in a
// namespace.
func setBindingsAsked(out *v1alpha1.ProtectedAttributeStatus, generation int64, unasked int) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionBindingsAsked, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: v1alpha1.ReasonBindingsAsked, Message: "all bindings of the role are newer than the specification, so creating them needed the verb bind on the role",
	}
	var warnings []string
	if unasked > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonClusterRoleBindings
		warnings = append(warnings, fmt.Sprintf("%d ClusterRoleBindings of the role count, and creating these does not need the verb bind because of this attribute", unasked))
	}
	if out.EarlierBindingCount > 0 {
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonEarlierBindings
		warnings = append(warnings, fmt.Sprintf("%d bindings of the role may be older than the specification, so creating them may not have needed the verb bind on the role", out.EarlierBindingCount))
	}
	if len(warnings) > 0 {
		condition.Message = strings.Join(warnings, "; ") + ": check whether their subjects should be admitted; " +
			"to acknowledge a binding, delete it and create it again as a RoleBinding, with the verb bind on the role"
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

// holdersOf returns the subjects of bindings, each once, in order.
func holdersOf(here []*rbacv1.RoleBinding, everywhere []*rbacv1.ClusterRoleBinding) []v1alpha1.Subject {
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
	return slices.SortedFunc(maps.Keys(seen), func(a, b v1alpha1.Subject) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
}

// earlierBindings returns the bindings that may be older than the time than, in order. A creation
// time has a precision of one second, so a binding that was created in the same second is among
// them.
func earlierBindings(than time.Time, here []*rbacv1.RoleBinding, everywhere []*rbacv1.ClusterRoleBinding) []v1alpha1.BindingReference {
	var out []v1alpha1.BindingReference
	add := func(kind string, object *metav1.ObjectMeta) {
		if !object.CreationTimestamp.Time.Truncate(time.Second).After(than) {
			out = append(out, v1alpha1.BindingReference{Kind: kind, Namespace: object.Namespace, Name: object.Name})
		}
	}
	for _, b := range here {
		add("RoleBinding", &b.ObjectMeta)
	}
	for _, b := range everywhere {
		add("ClusterRoleBinding", &b.ObjectMeta)
	}
	slices.SortFunc(out, func(a, b v1alpha1.BindingReference) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}
