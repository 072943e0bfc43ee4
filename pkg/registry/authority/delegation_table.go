// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// delegationTable returns the columns of AuthorityDelegations for kubectl get. bound returns the user name
// of the service account that is bound to a delegation, or "" if none is.
func delegationTable(bound func(types.UID) string) table {
	return table{
		columns: delegationColumns,
		cells: func(obj runtime.Object) ([]any, error) {
			d, ok := obj.(*authority.AuthorityDelegation)
			if !ok {
				return nil, fmt.Errorf("%T is not a delegation", obj)
			}
			where := d.Spec.Scope.Namespace
			if d.Spec.Scope.Cluster {
				where = "<cluster>"
			}
			used := "<unknown>"
			if d.Status.LastUsed != nil {
				used = metatable.ConvertToHumanReadableDateType(*d.Status.LastUsed)
			}
			return []any{
				d.Name, d.Status.Delegator.Username, delegatesText(d.Spec.Delegates), rulesText(d.Spec.RoleRef, d.Spec.Rules), where,
				timeLeft(d), viaText(&d.Status), boundText(bound(d.UID)),
				metatable.ConvertToHumanReadableDateType(d.CreationTimestamp),
				string(d.Spec.IfLost), int64(len(d.Spec.Conditions)), used,
			}, nil
		},
	}
}

var delegationColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The name of the object."},
	{Name: "Who", Type: "string", Description: "The user who delegates their own permissions, or permissions that others delegated to them."},
	{Name: "Whom", Type: "string", Description: "The users, groups and service accounts that may use the delegation."},
	{Name: "What", Type: "string", Description: "The role or the rules that are delegated."},
	{Name: "Where", Type: "string", Description: "The namespace to which the delegation applies, or the cluster."},
	{Name: "Until", Type: "string", Description: "The time that is left until the delegation expires."},
	{Name: "How", Type: "string", Description: "How the delegator got the permissions: own, or by delegations, impersonation or a token."},
	{Name: "Bound", Type: "string", Description: "The service account that always acts under the delegation, if there is one."},
	{Name: "Age", Type: "string", Description: "The time since the object was created."},
	{Name: "If lost", Type: "string", Priority: 1, Description: "What happens to the delegation when the delegator loses permissions."},
	{Name: "Conditions", Type: "integer", Priority: 1, Description: "The number of conditions that each write must meet."},
	{Name: "Last used", Type: "string", Priority: 1, Description: "The last known use, if the delegation expires when it is not used."},
}

// boundText returns the namespace and the name of a service account, or "-" without one.
func boundText(username string) string {
	namespace, name, err := serviceaccount.SplitUsername(username)
	if err != nil {
		return "-"
	}
	return namespace + "/" + name
}

// usernameOf returns the user name with which a delegate, which is a user or a service account,
// sends requests.
func usernameOf(delegate v1alpha1.Delegate) string {
	if delegate.Kind == v1alpha1.DelegateServiceAccount {
		return serviceaccount.MakeUsername(delegate.Namespace, delegate.Name)
	}
	return delegate.Name
}

func delegatesText(all []v1alpha1.Delegate) string {
	var names []string
	for _, delegate := range all {
		switch delegate.Kind {
		case v1alpha1.DelegateGroup:
			names = append(names, "group "+delegate.Name)
		case v1alpha1.DelegateServiceAccount:
			names = append(names, delegate.Namespace+"/"+delegate.Name)
		default:
			names = append(names, delegate.Name)
		}
	}
	return firstThree(names)
}

func rulesText(ref *v1alpha1.DelegatedRole, rules []rbacv1.PolicyRule) string {
	if ref != nil {
		return ref.Kind + "/" + ref.Name
	}
	if len(rules) == 1 {
		rule := rules[0]
		return firstThree(rule.Verbs) + " " + firstThree(append(rule.Resources[:len(rule.Resources):len(rule.Resources)],
			rule.NonResourceURLs...))
	}
	return fmt.Sprintf("%d rules", len(rules))
}

func timeLeft(d *authority.AuthorityDelegation) string {
	if d.DeletionTimestamp != nil {
		return "<deleted>"
	}
	until := d.Status.ExpirationTimestamp
	switch {
	case until == nil && d.Spec.IdleSeconds != nil:
		return "<unused " + duration.HumanDuration(time.Duration(*d.Spec.IdleSeconds)*time.Second) + ">"
	case until == nil:
		return "<no end>"
	case !until.After(time.Now()):
		return "<expired>"
	}
	return duration.HumanDuration(time.Until(until.Time))
}

func viaText(status *v1alpha1.AuthorityDelegationStatus) string {
	var parts []string
	if status.Cause != nil {
		parts = append(parts, "policy "+status.Cause.Policy)
	}
	for _, e := range status.History {
		switch e.Via {
		case v1alpha1.ViaDelegation:
			parts = append(parts, e.By+" by "+e.Name)
		case v1alpha1.ViaImpersonation:
			parts = append(parts, "impersonated by "+e.By)
		case v1alpha1.ViaToken:
			if e.Name != "" {
				parts = append(parts, "token of "+e.Name)
			}
		}
	}
	if len(parts) == 0 {
		return "own"
	}
	return strings.Join(parts, ", ")
}
