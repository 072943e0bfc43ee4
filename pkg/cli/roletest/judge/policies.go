// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/roletest/format"
)

// policyKind is the kind of the objects with which the server makes delegations for authors.
const policyKind = "AuthorityDelegationPolicy"

func isPolicy(o *format.Object) bool {
	return o.GetKind() == policyKind && o.GroupVersionKind().Group == v1alpha1.GroupName
}

// waitForPolicies waits until the server knows all policies: until it stamps an object for a policy that was
// written last.
func (s *Server) waitForPolicies(ctx context.Context) error {
	s.round++
	name := fmt.Sprintf("%s-%d", sentinel, s.round)
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": policyKind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"resource":          map[string]any{"group": "", "resource": configMaps.Resource},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": sentinelNamespace}},
			"delegates":         []any{map[string]any{"kind": "User", "name": name}},
			"rules":             []any{map[string]any{"apiGroups": []any{sentinelGroup}, "resources": []any{"none"}, "verbs": []any{"get"}}},
		},
	}}
	resource, err := s.resource(policy)
	if err != nil {
		return err
	}
	if _, err := resource.Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a policy: %s", reason(err))
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "probe"},
	}}
	stamp := configMaps.Resource + selection.StampSuffix + "/" + name
	maps := s.objects.Resource(configMaps).Namespace(sentinelNamespace)
	if err := until(ctx, "the policies are known", func(ctx context.Context) (bool, error) {
		got, err := maps.Create(ctx, probe, metav1.CreateOptions{DryRun: dryRun})
		if err != nil {
			return false, err
		}
		_, stamped := got.GetAnnotations()[stamp]
		return stamped, nil
	}); err != nil {
		return err
	}
	return resource.Delete(ctx, name, metav1.DeleteOptions{})
}

// deleteDelegations deletes all delegations: also those that the server made for policies.
func (s *Server) deleteDelegations(ctx context.Context) error {
	resource := v1alpha1.SchemeGroupVersion.WithResource("authoritydelegations")
	if !s.resources.Has(kinds.Qualified(resource.Group, resource.Resource)) {
		return nil
	}
	client := s.objects.Resource(resource)
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := client.Delete(ctx, list.Items[i].GetName(), metav1.DeleteOptions{}); ignoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// stamped returns the selection that the stamp on an object says.
func (s *Server) stamped(ctx context.Context, stamp *format.Stamp) (*selection.SelectedAuthority, error) {
	r, err := s.target(stamp.Resource, stamp.Name)
	if err != nil {
		return nil, err
	}
	object, err := r.client(s.objects).Get(ctx, r.name, metav1.GetOptions{})
	if err != nil {
		return nil, errors.New(reason(err))
	}
	out, err := selection.Stamped(object.GetAnnotations(), r.resource.GroupResource(), stamp.Policy)
	if err != nil {
		return nil, fmt.Errorf("%s has no stamp of the policy %s: somebody who triggers the policy must create it, by as: in given",
			stamp.Name, stamp.Policy)
	}
	return out, nil
}

// checkStamp returns an error if a subject is no delegate of the policy whose stamp it selects.
func (r *rbac) checkStamp(s *format.Subject) error {
	i := slices.IndexFunc(r.policies, func(p policy) bool { return p.name == s.Stamp.Policy })
	if i < 0 {
		return fmt.Errorf("the policy %s is not in given", s.Stamp.Policy)
	}
	if !isOneOf(s, r.policies[i].delegates) {
		return fmt.Errorf("the subject is not a delegate of the policy %s", s.Stamp.Policy)
	}
	return nil
}
