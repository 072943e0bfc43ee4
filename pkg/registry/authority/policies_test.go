// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

func policyOf(name string) *authority.AuthorityDelegationPolicy {
	return &authority.AuthorityDelegationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{
			Resource:  v1alpha1.GroupResource{Group: "apps", Resource: "deployments"},
			Neutral:   []string{"replicas"},
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "kube-system", Name: "deployment-controller"}},
			Rules:     []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"replicasets"}}},
			IfLost:    v1alpha1.LossWithdraw,
			IfNotHeld: v1alpha1.NotHeldRefuse,
		},
	}
}

// TestPolicyRequests holds that a policy is prepared, with its status, when its specification is
// written, and only then, and that each change is reported.
func TestPolicyRequests(t *testing.T) {
	var log []string
	var refusal error
	prepared := 0
	store, err := newPolicies(optionsOf{t}, &Policies{
		Prepare: func(_ context.Context, p *v1alpha1.AuthorityDelegationPolicy) error {
			prepared++
			log = append(log, "prepared "+p.Name)
			p.Status = v1alpha1.AuthorityDelegationPolicyStatus{Author: fmt.Sprint("author ", prepared)}
			return refusal
		},
		Observe: func(p *v1alpha1.AuthorityDelegationPolicy, gone bool) {
			log = append(log, map[bool]string{false: "stored ", true: "removed "}[gone]+p.Name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Destroy)
	until(t, func() bool { return store.Storage.Storage.ReadinessCheck() == nil })
	logged := func(after string, want ...string) {
		t.Helper()
		// The storage may offer an object that is no longer current. Then it prepares the write once more.
		if log = slices.Compact(log); !slices.Equal(log, want) {
			t.Errorf("%s: %v, want %v", after, log, want)
		}
		log = nil
	}
	ctx := as("jane")
	update := func(f func(*authority.AuthorityDelegationPolicy)) (*authority.AuthorityDelegationPolicy, error) {
		info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			next := old.DeepCopyObject().(*authority.AuthorityDelegationPolicy)
			next.Status, next.Generation = v1alpha1.AuthorityDelegationPolicyStatus{Author: "forged"}, 9
			f(next)
			return next, nil
		})
		out, _, err := store.Update(ctx, "a", info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		return out.(*authority.AuthorityDelegationPolicy), nil
	}

	refusal = errors.New("not held")
	if _, err := store.Create(ctx, policyOf("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); !errors.Is(err, refusal) {
		t.Errorf("a policy that is refused: %v", err)
	}
	logged("a refused creation", "prepared a")
	refusal = nil
	forged := policyOf("a")
	forged.Labels, forged.Status.Author = map[string]string{"team": "x"}, "forged"
	out, err := store.Create(ctx, forged, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p := out.(*authority.AuthorityDelegationPolicy); p.Status.Author != "author 2" || p.Generation != 1 {
		t.Errorf("created %+v", p)
	}
	logged("a creation", "prepared a", "stored a")

	p, err := update(func(p *authority.AuthorityDelegationPolicy) { p.Annotations = map[string]string{"a": "b"} })
	if err != nil || p.Status.Author != "author 2" || p.Generation != 1 {
		t.Errorf("an update of metadata: %+v, %v", p, err)
	}
	logged("an update of metadata", "stored a")
	skip := func(p *authority.AuthorityDelegationPolicy) { p.Spec.IfNotHeld = v1alpha1.NotHeldSkip }
	refusal = errors.New("not held")
	if _, err := update(skip); !errors.Is(err, refusal) {
		t.Errorf("an update that is refused: %v", err)
	}
	logged("a refused update", "prepared a")
	refusal = nil
	p, err = update(skip)
	if err != nil || p.Status.Author != fmt.Sprint("author ", prepared) || p.Generation != 2 {
		t.Errorf("an update of the specification: %+v, %v", p, err)
	}
	logged("an update of the specification", "prepared a", "stored a")
	if _, err := update(func(p *authority.AuthorityDelegationPolicy) { p.Spec.Delegates = nil }); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid update: %v", err)
	}

	log = nil
	for selector, want := range map[string]int{"team=x": 1, "team=y": 0} {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.List(ctx, &metainternalversion.ListOptions{LabelSelector: parsed})
		if err != nil || len(list.(*authority.AuthorityDelegationPolicyList).Items) != want {
			t.Errorf("%s: %v, %v", selector, list, err)
		}
	}
	if list, err := listWatch(store).ListWithContext(ctx, metav1.ListOptions{}); err != nil || len(list.(*authority.AuthorityDelegationPolicyList).Items) != 1 {
		t.Errorf("in process: %v, %v", list, err)
	}
	if _, _, err := store.Delete(ctx, "a", rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	logged("a deletion", "removed a")
}

// TestPolicyValidation holds what only the server can validate, in a new policy and in an update.
func TestPolicyValidation(t *testing.T) {
	s := policyStrategy{strategy{ObjectTyper: legacyscheme.Scheme, scope: true}}
	if s.NamespaceScoped() {
		t.Error("policies are in namespaces")
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AuthorityDelegationPolicySpec)
		want   string
	}{
		"valid":        {func(*v1alpha1.AuthorityDelegationPolicySpec) {}, ""},
		"no delegates": {func(spec *v1alpha1.AuthorityDelegationPolicySpec) { spec.Delegates = nil }, "spec.delegates"},
		"a condition": {func(spec *v1alpha1.AuthorityDelegationPolicySpec) {
			spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "object.("}}
		}, "spec.conditions[0].expression"},
		"a second name of a resource": {func(spec *v1alpha1.AuthorityDelegationPolicySpec) {
			spec.Resource, spec.Neutral = v1alpha1.GroupResource{Group: "events.k8s.io", Resource: "events"}, nil
		}, "spec.resource"},
		"a resource whose objects are never stored": {func(spec *v1alpha1.AuthorityDelegationPolicySpec) {
			spec.Resource, spec.Neutral = v1alpha1.GroupResource{Group: "authentication.k8s.io", Resource: "tokenreviews"}, nil
		}, "spec.resource"},
		"a permission that the resource lacks": {func(spec *v1alpha1.AuthorityDelegationPolicySpec) {
			spec.Neutral = []string{"replicas", "nodeAssignment"}
		}, "spec.neutral[1]"},
	} {
		old, p := policyOf("a"), policyOf("a")
		old.ResourceVersion, old.UID = "1", "u"
		tc.change(&p.Spec)
		next := p.DeepCopyObject().(*authority.AuthorityDelegationPolicy)
		next.ResourceVersion, next.UID = "1", "u"
		for how, errs := range map[string]field.ErrorList{
			"created": s.Validate(t.Context(), p), "updated": s.ValidateUpdate(t.Context(), next, old),
		} {
			elsewhere := slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Field != tc.want })
			if elsewhere || (len(errs) == 0) != (tc.want == "") {
				t.Errorf("%s, %s: %v, want an error of %q", name, how, errs, tc.want)
			}
		}
	}
}

// TestPolicyTable checks the content of the columns that kubectl get prints of a policy.
func TestPolicyTable(t *testing.T) {
	p := policyOf("a")
	p.Status.Author = "jane"
	got, err := policyTable.ConvertToTable(t.Context(), p, nil)
	if err != nil || len(got.Rows) != 1 || len(got.Rows[0].Cells) != len(got.ColumnDefinitions) {
		t.Fatal(got, err)
	}
	got.DeepCopy() // as the audit log does
	const want = "a deployments.apps kube-system/deployment-controller create replicasets Refuse <unknown> Withdraw jane\n"
	if text := fmt.Sprintln(got.Rows[0].Cells...); text != want {
		t.Errorf("got  %swant %s", text, want)
	}
}
