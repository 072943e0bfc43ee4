// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/api/authority/v1alpha1"
)

// workloads are the resources whose controllers create pods for users.
var workloads = []string{"cronjobs.batch", "daemonsets.apps", "deployments.apps", "jobs.batch", "replicasets.apps", "replicationcontrollers", "statefulsets.apps"}

const policiesHead = `
## Policies for the workload controllers

With these policies, the author of a workload delegates the rights that its controller needs for it, and no
more. [Delegated authority](../delegated-authority.md#policies) says how to introduce them
before controllers lose a right. A controller can pass on only rights that were delegated to it. So each policy also
delegates the rights of the controllers that work on the resulting objects.

`

// policies returns the section of the page with an AuthorityDelegationPolicy for each workload
// resource, as YAML.
func policies(all []rbacv1.ClusterRole) (string, error) {
	rights, delegates := map[string][]right{}, map[string]string{}
	for i := range all {
		classes, err := classify(&all[i], map[string]bool{})
		if err != nil {
			return "", err
		}
		for _, c := range classes {
			if c.class != perObject || !slices.Contains(workloads, c.trigger) || c.right.resourceName() == c.trigger {
				continue
			}
			name := strings.TrimPrefix(all[i].Name, prefix)
			if other := delegates[c.trigger]; other != "" && other != name {
				return "", fmt.Errorf("%s works on %s as well as %s", name, c.trigger, other)
			}
			delegates[c.trigger] = name
			rights[c.trigger] = append(rights[c.trigger], c.right)
		}
	}
	var out strings.Builder
	out.WriteString(policiesHead + "```yaml\n")
	for i, trigger := range workloads {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := policyFor(trigger, delegates[trigger], needed(trigger, rights))
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	out.WriteString("```\n")
	return out.String(), nil
}

// needed returns the permissions that controllers need to act for an object of the resource
// trigger, including the permissions for objects that the controllers create in turn, such as the
// ReplicaSet of a Deployment and the pods of that ReplicaSet.
func needed(trigger string, rights map[string][]right) []right {
	out := slices.Clone(rights[trigger])
	for _, r := range rights[trigger] {
		if r.verb == "create" && r.resourceName() != trigger {
			out = append(out, needed(r.resourceName(), rights)...)
		}
	}
	slices.SortFunc(out, func(a, b right) int { return cmp.Compare(a.resourceName()+" "+a.verb, b.resourceName()+" "+b.verb) })
	return slices.Compact(out)
}

func policyFor(trigger, controller string, rights []right) (string, error) {
	resource, group, _ := strings.Cut(trigger, ".")
	rules := map[string]*rbacv1.PolicyRule{}
	for _, r := range rights {
		if rules[r.resourceName()] == nil {
			rules[r.resourceName()] = &rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}}
		}
		rules[r.resourceName()].Verbs = append(rules[r.resourceName()].Verbs, r.verb)
	}
	p := v1alpha1.AuthorityDelegationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "AuthorityDelegationPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: resource},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{
			Resource:  v1alpha1.GroupResource{Group: group, Resource: resource},
			Neutral:   []string{"replicas"},
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "kube-system", Name: controller}},
			IfLost:    v1alpha1.LossKeep,
			IfNotHeld: v1alpha1.NotHeldSkip,
		},
	}
	for _, ruled := range slices.Sorted(maps.Keys(rules)) {
		p.Spec.Rules = append(p.Spec.Rules, *rules[ruled])
	}
	text, err := yaml.Marshal(p)
	return strings.Replace(string(text), "status: {}\n", "", 1), err
}
