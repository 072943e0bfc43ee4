// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package grants

import (
	"encoding/json"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	authority "kube-granular.dev/api/authority/v1alpha1"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
	"kube-granular.dev/tenancy/internal/sudorules"
)

// ownRules is the maximum number of rules that the function Delegations adds to the rules that the
// function Delegable returned.
const ownRules = 4

// Delegable merges the rules of sudo until they fit into an AuthorityDelegation, which can have
// only a limited number of rules. The returned rules allow at least what the given rules allow,
// and possibly more.
func Delegable(rules []rbacv1.PolicyRule) ([]rbacv1.PolicyRule, error) {
	return sudorules.Fit(rules, authority.MaxRules-ownRules, authority.MaxRuleLength)
}

// Delegations returns the delegations of a tenant, one for each sudoer. rules are the rules of
// sudo in a namespace, as the function Delegable returned them.
//
// The rules of a delegation are an upper bound. The controller creates the delegation as a member
// of the tenant's sudoer group, so the delegation allows only what this group is allowed at
// present: in the namespace by RoleBindings, and on the LNamespace by a ClusterRole. If a kind of
// change is removed from spec.sudo.allow, the group loses its permission. So sudo loses this
// permission even before the delegation is replaced.
func Delegations(t *v1alpha1.LNamespace, rules []rbacv1.PolicyRule, o Options) ([]*authority.AuthorityDelegation, error) {
	all := slices.Clone(rules)
	if slices.Contains(t.Spec.Sudo.Allow, v1alpha1.AllowQuotas) {
		all = append(all, sudorules.Quotas()...)
	}
	if slices.Contains(t.Spec.Sudo.Allow, v1alpha1.AllowNamespace) {
		all = append(all, sudorules.Namespace()...)
	}
	// All users may list LNamespaces.
	all = append(all, rbacv1.PolicyRule{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"lnamespaces"}, Verbs: []string{"get", "list", "watch"},
	})
	var delegations []*authority.AuthorityDelegation
	seen := map[authority.Delegate]bool{}
	for _, sudoer := range Acting(t) {
		to := delegate(sudoer)
		if seen[to] {
			continue
		}
		seen[to] = true
		d := &authority.AuthorityDelegation{
			ObjectMeta: meta(t, "", ""),
			Spec: authority.AuthorityDelegationSpec{
				Delegates: []authority.Delegate{to},
				// The scope is the cluster, because the LNamespace is cluster-scoped. The
				// delegator still has permissions only in one namespace and on one LNamespace.
				Scope:  authority.DelegationScope{Cluster: true},
				Rules:  append(slices.Clone(all), delegatedRule(t, to, o)),
				IfLost: authority.LossWithdraw,
			},
		}
		if end, ends := sudoer.End(); ends {
			// The server itself ends the delegation at this second.
			d.Spec.ExpirationTimestamp = &metav1.Time{Time: end.UTC()}
		}
		says, err := json.Marshal(struct {
			UID  types.UID
			Spec authority.AuthorityDelegationSpec
		}{t.UID, d.Spec})
		if err != nil {
			return nil, err
		}
		d.Name = names.Delegation(t.Name, says)
		delegations = append(delegations, d)
	}
	return delegations, nil
}

// Sudoer returns the member of a tenant that a delegation was made for. If the delegation does not
// have exactly one delegate, Sudoer returns an empty subject.
func Sudoer(d *authority.AuthorityDelegation) v1alpha1.Subject {
	if len(d.Spec.Delegates) != 1 {
		return v1alpha1.Subject{}
	}
	to := d.Spec.Delegates[0]
	return v1alpha1.Subject{Kind: v1alpha1.SubjectKind(to.Kind), Name: to.Name, Namespace: to.Namespace}
}

func delegate(s v1alpha1.Subject) authority.Delegate {
	return authority.Delegate{Kind: authority.DelegateKind(s.Bare().Kind), Namespace: s.Namespace, Name: s.Name}
}

// delegatedRule returns the rule for the LNamespace in a delegation to the delegate to. The rule
// has either the verb SudoGroupVerb, if the delegate is a group, or the verb SudoVerb. By this
// verb, admission policies recognize sudo and the kind of the delegate.
func delegatedRule(t *v1alpha1.LNamespace, to authority.Delegate, o Options) rbacv1.PolicyRule {
	rule := editRules(t, o)[0]
	other := names.SudoGroupVerb
	if to.Kind == authority.DelegateGroup {
		other = names.SudoVerb
	}
	rule.Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == other })
	return rule
}

// Ours reports whether the controller created the delegation d for the tenant. It compares the
// creator of d with the user that only the controller impersonates for this tenant, if sudo works
// by delegation.
func Ours(d *authority.AuthorityDelegation, tenant string) bool {
	return d.Status.Delegator.Username == names.SudoUser(tenant)
}
