// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/selected"
)

// TestNothingConfigured holds that without a policy, a delegation and a selection a write gets
// no final check, and allocates nothing for it.
func TestNothingConfigured(t *testing.T) {
	index := delegation.NewIndex()
	checks := FinalChecks{Delegations: index,
		Policies: &PolicyIssuer{Policies: policy.NewIndex(), Issuer: &Issuer{Delegations: index}}}
	if err := checks.Policies.Policies.ReflectorStore().Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "pods"})
	if n := testing.AllocsPerRun(100, func() {
		if checks.Commit(ctx, false) != nil {
			t.Fatal("the write gets a final check, though nothing is configured")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	// A forged stamp could name a delegation, even one that no policy issued. So writes are
	// checked as soon as there is one.
	index.Observe(&v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: "2"}}, false)
	if checks.Commit(ctx, false) == nil {
		t.Error("the write gets no final check, though there is a delegation")
	}
	index.Observe(&v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: "3"}}, true)
	if checks.Commit(ctx, false) != nil {
		t.Error("the write gets a final check after the delegation was removed")
	}
	// With a policy, even one for another resource, only the server may write stamps.
	checks.Policies.Policies.Observe(&v1alpha1.AuthorityDelegationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "2"}, Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource{Resource: "secrets"}}}, false)
	if checks.Commit(ctx, false) == nil {
		t.Error("the write gets no final check, though there is a policy")
	}
}

// TestNotBuilt checks that no user writes before the policies can be asked, if the server serves
// policies, and that a server without them lets writes pass.
func TestNotBuilt(t *testing.T) {
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "create", Resource: "pods"})
	check := FinalChecks{Delegations: delegation.NewIndex()}.Commit(ctx, false)
	if check == nil {
		t.Fatal("the write gets no final check")
	}
	check.Before(&corev1.Pod{})
	if err := check.Begin(&corev1.Pod{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("the write is refused with %v", err)
	}
	check.End()
	if (FinalChecks{}).Commit(ctx, false) != nil {
		t.Error("a write to a server without delegations gets a final check")
	}
	if (FinalChecks{Delegations: delegation.NewIndex()}).Commit(t.Context(), false) != nil {
		t.Error("a write of the server itself, without a user, gets a final check")
	}
}

// TestCheckedWrite checks the final check of a write under a delegation: the delegation must be valid once more, and its
// conditions are verified on the stored object, also if the write changes that in place.
func TestCheckedWrite(t *testing.T) {
	bot := user.DefaultInfo{Name: "bot"}
	wasOne := []v1alpha1.DelegationCondition{{Expression: "oldObject.data.key == '1'"}}
	for name, tc := range map[string]struct {
		delegation func(*v1alpha1.AuthorityDelegation)
		kind       selection.Kind
		ends       bool // after the write has begun
		unserved   bool
		data       string
		refusal
	}{
		"valid":                   {},
		"valid, with a condition": {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Spec.Conditions = wasOne }, data: "1"},
		"a condition that is not met": {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Spec.Conditions = wasOne }, data: "2",
			refusal: refusal{apierrors.IsForbidden, "oldObject.data.key"}},
		"ended before": {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Status.ExpirationTimestamp = after(-time.Hour) },
			refusal: refusal{apierrors.IsForbidden, "has expired"}},
		"ended meanwhile": {ends: true, refusal: refusal{apierrors.IsForbidden, "was deleted"}},
		"not served":      {unserved: true, refusal: refusal{anyError, selected.ErrNotServed.Error()}},
		"under a role":    {kind: selection.ClusterRoleKind, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newScene(t), stored("d", "carol", []v1alpha1.Delegate{toUser("bot")}, readPods)
			if tc.delegation != nil {
				tc.delegation(d)
			}
			if tc.kind == "" {
				tc.kind = selection.AuthorityDelegationKind
			}
			s.index.Observe(d, false)
			checks := FinalChecks{Delegations: s.index, Policies: s.policies(t)}
			if tc.unserved {
				checks = FinalChecks{}
			}
			check := checks.Commit(requesting(s.by(selecting(bot, tc.kind, "d")), "update", "", "configmaps"), false)
			if tc.ends {
				s.index.Observe(d, true)
			}
			obj := configMap(tc.data)
			check.Before(obj)
			obj.Data["key"] = "3"
			err := check.Begin(obj)
			check.End()
			tc.check(t, err)
		})
	}
}

// TestDeletionWaits checks that the deletion of a delegation is not answered between the final check of a write under it
// and the end of that write.
func TestDeletionWaits(t *testing.T) {
	s := newScene(t)
	s.index.Observe(stored("d", "carol", []v1alpha1.Delegate{toUser("bot")}, readPods), false)
	check := FinalChecks{Delegations: s.index, Policies: s.policies(t)}.Commit(
		requesting(s.by(selecting(user.DefaultInfo{Name: "bot"}, selection.AuthorityDelegationKind, "d")), "update", "", "configmaps"), false)
	check.Before(configMap("1"))
	refusal{}.check(t, check.Begin(configMap("2")))
	answered := make(chan struct{})
	go func() { s.index.WaitForCommits(); close(answered) }()
	select {
	case <-answered:
		t.Fatal("the deletion was answered before the write ended")
	default:
	}
	check.End()
	select {
	case <-answered:
	case <-time.After(5 * time.Second):
		t.Fatal("the deletion was not answered after the write ended")
	}
}

// TestWriteOfAccount checks that the final check guards the bindings of service accounts, also where there is neither a
// policy nor a delegation, and that it does so for deletions.
func TestWriteOfAccount(t *testing.T) {
	for name, tc := range map[string]struct {
		caller user.Info
		obj    *corev1.ServiceAccount
		refusal
	}{
		"labelled": {&user.DefaultInfo{Name: "alice"}, bound(), refusal{}},
		"released": {&user.DefaultInfo{Name: "alice"}, bound(""), refusal{apierrors.IsForbidden, "needs the verb update"}},
		"deleted":  {&user.DefaultInfo{Name: "alice"}, nil, refusal{}},
		"deleted under a role": {selecting(user.DefaultInfo{Name: "alice"}, selection.ClusterRoleKind, "r"), nil,
			refusal{apierrors.IsForbidden, "can't be removed with the account"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			checks := FinalChecks{Delegations: s.index, Policies: s.policies(t)}
			check := checks.Commit(requesting(s.by(tc.caller), "update", "", "serviceaccounts"), false)
			check.Before(bound(bindingTo("d")))
			var obj runtime.Object
			if tc.obj != nil {
				obj = tc.obj
			}
			tc.check(t, check.Begin(obj))
			check.End()
			if tc.is == nil && tc.obj != nil && tc.obj.Annotations[selection.BindingAnnotation] != bindingTo("d") {
				t.Error("the binding was removed")
			}
		})
	}
	if (FinalChecks{}).Commit(requesting(newScene(t).by(&user.DefaultInfo{Name: "alice"}), "update", "", "serviceaccounts"), false) != nil {
		t.Error("a server without delegations guards bindings")
	}
	s := newScene(t)
	if (FinalChecks{Delegations: s.index, Policies: s.policies(t)}).Commit(requesting(s.ctx, "update", "", "serviceaccounts"), false) != nil {
		t.Error("a write of the server itself, without a user, is checked")
	}
}

// TestPoliciesInFinalCheck checks that the final check applies the policies to what is stored, and to nothing that is
// deleted. The stored object of an earlier attempt counts for nothing.
func TestPoliciesInFinalCheck(t *testing.T) {
	begin := func(t *testing.T, caller string, all ...*v1alpha1.AuthorityDelegationPolicy) (*scene, FinalChecks, seam.Commit) {
		t.Helper()
		s := newScene(t, granted("reader", readPods, "alice")...)
		s.index.Observe(stored("any", "carol", nil, readPods), false)
		checks := FinalChecks{Delegations: s.index, Policies: s.policies(t, all...)}
		return s, checks, checks.Commit(requesting(s.by(&user.DefaultInfo{Name: caller}), "update", "", "configmaps"), false)
	}
	p := delegationPolicy(readPods)
	p.Status.Rules = readPods
	s, _, check := begin(t, "alice", p)
	refusal{}.check(t, check.Begin(configMap("1")))
	if len(s.created) != 1 {
		t.Errorf("created: %d delegations", len(s.created))
	}
	_, _, check = begin(t, "eve", p)
	refusal{apierrors.IsForbidden, "must hold"}.check(t, check.Begin(configMap("1")))

	obj := configMap("1")
	check.Before(obj)
	obj.Labels = map[string]string{"x": "y"}
	refusal{}.check(t, check.Begin(obj))
	check.Before(obj)
	obj.Data["key"] = "2"
	refusal{apierrors.IsForbidden, "must hold"}.check(t, check.Begin(obj))
	check.Before(configMap("1"))
	refusal{}.check(t, check.Begin(nil))

	_, checks, check := begin(t, "eve")
	check.Before(configMap("1", kept)) // an earlier attempt
	check.Before(configMap("2"))
	checks.Policies.Policies.Observe(p, false)
	refusal{apierrors.IsForbidden, "must hold"}.check(t, check.Begin(configMap("1")))
}
