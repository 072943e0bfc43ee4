// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
)

// readPods are the rules of most scenes.
var readPods = rules(on("pods", "get", "list"))

const robot = "system:serviceaccount:n:robot"

// wanted returns a delegation of the right to get pods in the namespace n to bot, as a user sends it.
func wanted() *v1alpha1.AuthorityDelegation {
	return &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: v1alpha1.AuthorityDelegationSpec{
		Delegates: []v1alpha1.Delegate{toUser("bot")}, Rules: rules(on("pods", "get")),
		Scope: v1alpha1.DelegationScope{Namespace: "n"}, IfLost: v1alpha1.LossWithdraw,
	}}
}

// sceneOfPods returns a scene in which alice, and all others who could be taken for somebody who holds
// nothing, hold the rules readPods.
func sceneOfPods(t *testing.T) *scene {
	t.Helper()
	ending := metav1.NewTime(present)
	objects := append(granted("reader", readPods, "alice", "carol", "system:anonymous", robot, ""), clusterRole("editor", rules(on("pods", "update"))))
	return newScene(t, append(objects,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n-uid"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending", UID: "e-uid", DeletionTimestamp: &ending}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "robot", UID: "r-1"}})...)
}

func after(d time.Duration) *metav1.Time { return &metav1.Time{Time: present.Add(d)} }

// TestDelegate checks who may create which delegation. Each row differs in one point from the delegation of the
// first row, which is created.
func TestDelegate(t *testing.T) {
	alice := user.DefaultInfo{Name: "alice", UID: "a"}
	for name, tc := range map[string]struct {
		caller user.Info
		change func(*v1alpha1.AuthorityDelegation)
		refusal
	}{
		"what the creator holds":       {},
		"no delegate":                  {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates = nil }, refusal{apierrors.IsInvalid, "spec.delegates"}},
		"an anonymous creator":         {&user.DefaultInfo{Name: user.Anonymous}, nil, refusal{apierrors.IsForbidden, "only an authenticated user"}},
		"a creator without a name":     {&user.DefaultInfo{}, nil, refusal{apierrors.IsForbidden, "only an authenticated user"}},
		"a creator who holds nothing":  {&user.DefaultInfo{Name: "eve"}, nil, refusal{apierrors.IsForbidden, "attempting to grant RBAC permissions not currently held"}},
		"more than the creator holds":  {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules[0].Verbs = []string{"get", "delete"} }, refusal{apierrors.IsForbidden, "delete"}},
		"as much as the creator holds": {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules = readPods }, refusal{}},
		"the creator as a delegate":    {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0].Name = "alice" }, refusal{apierrors.IsInvalid, "is the delegator itself"}},
		"the creator's name as a group": {nil, func(d *v1alpha1.AuthorityDelegation) {
			d.Spec.Delegates[0] = v1alpha1.Delegate{Kind: v1alpha1.DelegateGroup, Name: "alice"}
		}, refusal{}},
		"an account":                      {&user.DefaultInfo{Name: robot}, nil, refusal{}},
		"an account, to itself":           {&user.DefaultInfo{Name: robot}, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0] = toAccount("n", "robot", "") }, refusal{apierrors.IsInvalid, "is the delegator itself"}},
		"an account, to another":          {&user.DefaultInfo{Name: robot}, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0] = toAccount("n", "other", "") }, refusal{}},
		"an account, by its user name":    {&user.DefaultInfo{Name: robot}, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0] = toUser(robot) }, refusal{apierrors.IsInvalid, "is the delegator itself"}},
		"an account that is gone":         {&user.DefaultInfo{Name: "system:serviceaccount:n:gone"}, nil, refusal{apierrors.IsForbidden, "the account can't be read"}},
		"expiring in a second":            {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(time.Second) }, refusal{}},
		"expiring now":                    {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(0) }, refusal{apierrors.IsInvalid, "must be in the future"}},
		"in a namespace that is missing":  {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Scope.Namespace = "gone" }, refusal{apierrors.IsNotFound, "gone"}},
		"in a namespace that is ending":   {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Scope.Namespace = "ending" }, refusal{apierrors.IsInvalid, "is being deleted"}},
		"in the cluster":                  {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Scope = v1alpha1.DelegationScope{Cluster: true} }, refusal{}},
		"with conditions on what is read": {nil, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Conditions = anyCondition }, refusal{}},
		"a missing namespace, by nobody": {&user.DefaultInfo{Name: "eve"}, func(d *v1alpha1.AuthorityDelegation) { d.Spec.Scope.Namespace = "gone" },
			refusal{apierrors.IsForbidden, "not currently held"}},
		"under a delegation that does not exist": {selects(alice, selection.AuthorityDelegationKind, "gone"), nil, refusal{apierrors.IsForbidden, "does not exist"}},
		"under an authority that can't be read": {&user.DefaultInfo{Name: "alice", Extra: map[string][]string{selection.ExtraKey: {"{"}}}, nil,
			refusal{apierrors.IsForbidden, "is not a SelectedAuthority"}},
		"a role that is missing": {nil, func(d *v1alpha1.AuthorityDelegation) {
			d.Spec.Rules, d.Spec.RoleRef = nil, &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "gone"}
		}, refusal{apierrors.IsForbidden, "or it does not exist"}},
		"under a role that has it":  {selects(alice, selection.ClusterRoleKind, "reader"), nil, refusal{}},
		"under a role that has not": {selects(alice, selection.ClusterRoleKind, "other"), nil, refusal{apierrors.IsForbidden, "not currently held"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := sceneOfPods(t), wanted()
			if tc.change != nil {
				tc.change(d)
			}
			if tc.caller == nil {
				tc.caller = &alice
			}
			tc.check(t, s.issuer.PrepareDelegation(s.by(tc.caller), d))
		})
	}
	s := sceneOfPods(t)
	refusal{apierrors.IsForbidden, "only an authenticated user"}.check(t, s.issuer.PrepareDelegation(s.ctx, wanted()))
	// A selection that can't be read is no lack of a selection.
	_, err := s.issuer.parentChain(s.ctx, &user.DefaultInfo{Name: "alice", Extra: map[string][]string{selection.ExtraKey: {"{"}}})
	refusal{anyError, "is not a SelectedAuthority"}.check(t, err)
}

var anyCondition = []v1alpha1.DelegationCondition{{Expression: "true"}}

// TestDelegationStatus checks what the server writes into the status of a delegation, and that it keeps nothing that the
// creator sent there.
func TestDelegationStatus(t *testing.T) {
	s, d := sceneOfPods(t), wanted()
	d.Spec.ExpirationTimestamp = after(time.Hour)
	d.Status = v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "root"}, Rules: rules(on("*", "*")), NamespaceUID: "x",
		History: []v1alpha1.ChainEntry{{Via: v1alpha1.ViaToken}}, Cause: &v1alpha1.DelegationCause{}, LastUsed: after(0)}
	caller := user.DefaultInfo{Name: robot, UID: "r-1", Groups: []string{"team"}, Extra: map[string][]string{
		serviceaccount.PodNameKey: {"p"}, serviceaccount.PodUIDKey: {"p-uid"}}}
	if err := s.issuer.PrepareDelegation(s.by(&caller), d); err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.AuthorityDelegationStatus{
		Delegator:           v1alpha1.DelegatorIdentity{Username: robot, UID: "r-1", Groups: []string{"team"}, Extra: caller.Extra},
		Rules:               d.Spec.Rules,
		NamespaceUID:        "n-uid",
		ExpirationTimestamp: after(time.Hour),
		History:             []v1alpha1.ChainEntry{{Via: v1alpha1.ViaToken, By: robot, ByUID: "r-1", Name: "Pod/p", UID: "p-uid"}},
	}
	if diff := cmp.Diff(want, d.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if len(s.warnings) != 1 {
		t.Errorf("warnings %q, wanted one about the delegator that was sent", s.warnings)
	}
	// A selection is no part of who somebody is.
	got := identityOf(selects(user.DefaultInfo{Name: "alice"}, selection.ClusterRoleKind, "reader"))
	if diff := cmp.Diff(v1alpha1.DelegatorIdentity{Username: "alice"}, got); diff != "" {
		t.Errorf("delegator (-want +got):\n%s", diff)
	}
}

// TestDelegateUnder checks the delegations that are created under another one, which carol created for alice.
func TestDelegateUnder(t *testing.T) {
	alice := user.DefaultInfo{Name: "alice", UID: "a"}
	entry := v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, By: "carol", Name: "parent", UID: "parent-uid"}
	until := entry
	until.Until = after(time.Hour)
	for name, tc := range map[string]struct {
		parent, child func(*v1alpha1.AuthorityDelegation)
		above         int // the number of delegations above the parent
		refusal
		status v1alpha1.AuthorityDelegationStatus
	}{
		"the same rights": {status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{entry}}},
		"more rights":     {child: func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules = readPods }, refusal: refusal{apierrors.IsForbidden, "list"}},
		"more rights, that the creator holds itself": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.Rules = rules(on("secrets", "get")) },
			refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"rights that are not held any more": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.Username = "eve" },
			refusal: refusal{apierrors.IsForbidden, "not currently held"}},
		"of another delegate": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0].Name = "bob" },
			refusal: refusal{apierrors.IsForbidden, "not a delegate"}},
		"kept": {child: func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep },
			refusal: refusal{apierrors.IsInvalid, "Keep is not possible"}},
		"the parent expires": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.ExpirationTimestamp = after(time.Hour) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{until}, ExpirationTimestamp: after(time.Hour)}},
		"the parent expires first": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.ExpirationTimestamp = after(time.Hour) },
			child:  func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(2 * time.Hour) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{until}, ExpirationTimestamp: after(time.Hour)}},
		"the child expires first": {parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.ExpirationTimestamp = after(time.Hour) },
			child:  func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(time.Minute) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{until}, ExpirationTimestamp: after(time.Minute)}},
		"only the child expires": {child: func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(time.Minute) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{entry}, ExpirationTimestamp: after(time.Minute)}},
		"conditions of the parent, for what is not read": {
			parent: func(d *v1alpha1.AuthorityDelegation) {
				d.Spec.Conditions, d.Status.Rules = anyCondition, rules(on("pods", "get", "update"))
			},
			child:   func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules = rules(on("pods", "update")) },
			refusal: refusal{apierrors.IsInvalid, "the rules need the verb get"}},
		"conditions of the parent, for what is read": {
			parent: func(d *v1alpha1.AuthorityDelegation) {
				d.Spec.Conditions, d.Status.Rules = anyCondition, rules(on("pods", "get", "update"))
			},
			child:  func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules = rules(on("pods", "get", "update")) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{entry}}},
		"no conditions, for what is not read": {
			parent: func(d *v1alpha1.AuthorityDelegation) { d.Status.Rules = rules(on("pods", "update")) },
			child:  func(d *v1alpha1.AuthorityDelegation) { d.Spec.Rules = rules(on("pods", "update")) },
			status: v1alpha1.AuthorityDelegationStatus{History: []v1alpha1.ChainEntry{entry}}},
		"the longest chain": {above: v1alpha1.MaxChain - 2},
		"too long a chain":  {above: v1alpha1.MaxChain - 1, refusal: refusal{apierrors.IsForbidden, "at most 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, append(granted("writer", rules(on("pods", "get", "update")), "carol", "alice"),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n-uid"}})...)
			s.requests = []string{"delegate authoritydelegations.authority.kube-granular.dev /d"}
			var above []*v1alpha1.AuthorityDelegation
			for i := range tc.above {
				d := stored(fmt.Sprint("above-", i), "carol", []v1alpha1.Delegate{toUser("carol"), toUser("alice")}, rules(on("pods", "get")), above...)
				s.index.Observe(d, false)
				above = append(above, d)
			}
			parent, child := stored("parent", "carol", []v1alpha1.Delegate{toUser("alice")}, rules(on("pods", "get")), above...), wanted()
			if tc.parent != nil {
				tc.parent(parent)
			}
			if tc.child != nil {
				tc.child(child)
			}
			s.index.Observe(parent, false)
			err := s.issuer.PrepareDelegation(s.by(selects(alice, selection.AuthorityDelegationKind, "parent")), child)
			tc.check(t, err)
			if err != nil || tc.above > 0 {
				return
			}
			tc.status.Delegator, tc.status.Rules, tc.status.NamespaceUID = v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, child.Spec.Rules, "n-uid"
			if diff := cmp.Diff(tc.status, child.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDelegateUnderUnknown checks that a delegation under one of a service account is refused for now if this server can't
// tell yet whether the account still exists, and for good if it is gone.
func TestDelegateUnderUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		uid types.UID
		err error
		refusal
	}{
		"exists":  {"r-1", nil, refusal{}},
		"another": {"r-2", nil, refusal{apierrors.IsForbidden, "was deleted"}},
		"unknown": {"", errors.New("no answer"), refusal{apierrors.IsServiceUnavailable, "try again"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOfPods(t)
			s.connect(delegation.Sources{Accounts: delegation.NewAccounts(func(string, string) types.UID { return "" },
				func(context.Context, string, string) (types.UID, error) { return tc.uid, tc.err })})
			parent := stored("parent", robot, []v1alpha1.Delegate{toUser("alice")}, readPods)
			parent.Status.Delegator.UID = "r-1"
			s.index.Observe(parent, false)
			tc.check(t, s.issuer.PrepareDelegation(s.by(selects(user.DefaultInfo{Name: "alice"}, selection.AuthorityDelegationKind, "parent")), wanted()))
		})
	}
}

// TestConditionalRules checks that a delegation with conditions gives no right to write an object without the right to
// get it: a condition reveals the content.
func TestConditionalRules(t *testing.T) {
	both, write := rules(on("pods", "get", "update")), rules(on("pods", "update"))
	for name, tc := range map[string]struct {
		rules      []rbacv1.PolicyRule
		conditions []v1alpha1.DelegationCondition
		roleRef    *v1alpha1.DelegatedRole
		refusal
	}{
		"read and written":              {both, anyCondition, nil, refusal{}},
		"written":                       {write, anyCondition, nil, refusal{apierrors.IsInvalid, "spec.rules: Forbidden: with conditions"}},
		"written, without conditions":   {write, nil, nil, refusal{}},
		"written, by a role":            {nil, anyCondition, &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "blind"}, refusal{apierrors.IsInvalid, "spec.roleRef.name: Invalid value: \"blind\": with conditions"}},
		"read and written, by one role": {nil, anyCondition, &v1alpha1.DelegatedRole{Kind: "ClusterRole", Name: "writer"}, refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, append(granted("writer", both, "alice"), clusterRole("blind", write),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n-uid"}})...)
			d := wanted()
			d.Spec.Rules, d.Spec.RoleRef, d.Spec.Conditions = tc.rules, tc.roleRef, tc.conditions
			tc.check(t, s.issuer.PrepareDelegation(s.by(&user.DefaultInfo{Name: "alice"}), d))
		})
	}
}
