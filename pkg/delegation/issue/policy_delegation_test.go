// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// noOpinion is an authorizer without an opinion about any request.
type noOpinion struct{}

func (noOpinion) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// TestManyExpired checks that an author gets a delegation of a policy also if many delegations of
// the same content have expired because they were not used, and are kept because objects name them.
func TestManyExpired(t *testing.T) {
	index := delegation.NewIndex()
	index.Connect(delegation.Sources{Namespace: func(name string) types.UID { return types.UID(name) }})
	rules := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	client := fake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "reader"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "alice"}},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}})
	idle := int64(60)
	p := policy.Compile(&v1alpha1.AuthorityDelegationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{
			Resource: v1alpha1.GroupResource{Resource: "configmaps"}, Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
			Rules: rules, IdleSeconds: &idle, IfLost: v1alpha1.LossWithdraw,
		},
		Status: v1alpha1.AuthorityDelegationPolicyStatus{Rules: rules},
	})
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "alice"})
	issuer := &Issuer{Delegations: index, Cached: storage{client}.rbacReaders(), Authorizer: noOpinion{}, Now: time.Now}
	made := 0
	write := &policyWrite{ctx: ctx, PolicyIssuer: &PolicyIssuer{Issuer: issuer,
		Create: func(_ context.Context, d *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
			made++
			return d, nil
		}}}
	want, err := issuer.policyDelegation(ctx, p, "n")
	if err != nil {
		t.Fatal(err)
	}
	expire := func(attempt int) {
		old := want.DeepCopy()
		old.Name, old.UID, old.ResourceVersion = contentNames(want)(attempt), types.UID(contentNames(want)(attempt)), "1"
		index.Observe(old, false)
	}
	for i := range 100 {
		expire(i)
	}
	got, err := write.delegationFor(p, "n")
	if err != nil || made != 1 || got.Name != contentNames(want)(100) {
		t.Fatalf("made %d delegations, the last of them %+v: %v", made, got, err)
	}
	for i := 100; i < maxAttempts; i++ {
		expire(i)
	}
	if _, err := write.delegationFor(p, "n"); !apierrors.IsServiceUnavailable(err) || made != 1 {
		t.Errorf("all names are taken: %v", err)
	}
}

// TestSameInAll holds that a policy reuses an existing delegation of the wanted name only if it
// is equal to the wanted one in all that bears on authority.
//
// Attack: a policy finds an older delegation by its name, with more rules, no condition, or of another user
// Answer: it is not used
func TestSameInAll(t *testing.T) {
	want := func() *v1alpha1.AuthorityDelegation {
		return &v1alpha1.AuthorityDelegation{
			ObjectMeta: metav1.ObjectMeta{Name: "by-policy-x", UID: "u", ResourceVersion: "1"},
			Spec: v1alpha1.AuthorityDelegationSpec{Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
				Conditions: []v1alpha1.DelegationCondition{{Expression: "true"}}},
			Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice", UID: "a-1"},
				NamespaceUID: "n", Cause: &v1alpha1.DelegationCause{Policy: "p", UID: "p-1"}},
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AuthorityDelegation)
		same   bool
	}{
		"the same":      {func(*v1alpha1.AuthorityDelegation) {}, true},
		"renewed":       {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.Renewed = &metav1.Time{} }, true},
		"used":          {func(d *v1alpha1.AuthorityDelegation) { d.Status.LastUsed = &metav1.Time{} }, true},
		"labelled":      {func(d *v1alpha1.AuthorityDelegation) { d.Labels = map[string]string{"a": "b"} }, true},
		"no condition":  {func(d *v1alpha1.AuthorityDelegation) { d.Spec.Conditions = nil }, false},
		"to another":    {func(d *v1alpha1.AuthorityDelegation) { d.Spec.Delegates[0].Name = "eve" }, false},
		"another alice": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.UID = "a-2" }, false},
		"another group": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.Groups = []string{"admins"} },
			false},
		"another policy":    {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.UID = "p-2" }, false},
		"another namespace": {func(d *v1alpha1.AuthorityDelegation) { d.Status.NamespaceUID = "m" }, false},
		"kept":              {func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }, false},
		"another chain": {func(d *v1alpha1.AuthorityDelegation) {
			d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "carol", UID: "c"}}
		}, false},
		"asked for": {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := want()
			tc.change(is)
			index := delegation.NewIndex()
			index.Observe(is, false)
			if got := sameAuthority(index.ByName(is.Name), want()); got != tc.same {
				t.Errorf("same: %v, wanted %v", got, tc.same)
			}
			// Delegations that differ also get different names.
			is.Status.LastUsed = nil
			if is.Status.Cause != nil {
				is.Status.Cause.Renewed = nil
			}
			if got := contentNames(is)(0) == contentNames(want())(0); got != tc.same {
				t.Errorf("same name: %v, wanted %v", got, tc.same)
			}
		})
	}
}

// TestDelegationOfPolicy checks the delegation that a policy issues on behalf of the author of an object, and who can be
// such an author.
func TestDelegationOfPolicy(t *testing.T) {
	isNotHeldBecause := func(says string) refusal { return refusal{isNotHeld, says} }
	token := map[string][]string{user.CredentialIDKey: {"JTI=1"}, serviceaccount.PodNameKey: {"p"}, serviceaccount.PodUIDKey: {"p-uid"}, "team": {"a"}}
	parent := v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, By: "carol", Name: "parent", UID: "parent-uid", Until: after(time.Hour)}
	seconds := int64(200)
	for name, tc := range map[string]struct {
		caller    user.Info
		namespace string
		policy    func(*v1alpha1.AuthorityDelegationPolicy)
		refusal
		want func(*v1alpha1.AuthorityDelegation)
	}{
		"an author": {caller: &user.DefaultInfo{Name: "alice", UID: "a"}},
		"the groups of an author": {caller: &user.DefaultInfo{Name: "alice", UID: "a", Groups: []string{"x", "b"}},
			want: func(d *v1alpha1.AuthorityDelegation) { d.Status.Delegator.Groups = []string{"b", "x"} }},
		"what belongs to one token": {caller: &user.DefaultInfo{Name: robot, UID: "r-1", Extra: token}, want: func(d *v1alpha1.AuthorityDelegation) {
			d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: robot, UID: "r-1", Extra: map[string][]string{"team": {"a"}}}
			d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaToken, By: robot, ByUID: "r-1", Name: "Pod/p", UID: "p-uid"}}
		}},
		"a token of no pod": {caller: &user.DefaultInfo{Name: robot, UID: "r-1", Extra: map[string][]string{user.CredentialIDKey: {"JTI=1"}}}, want: func(d *v1alpha1.AuthorityDelegation) {
			d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: robot, UID: "r-1"}
		}},
		"the time that it stays": {caller: &user.DefaultInfo{Name: "alice", UID: "a"}, policy: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.OrphanSeconds = &seconds },
			want: func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.OrphanSeconds = 200 }},
		"what is kept": {caller: &user.DefaultInfo{Name: "alice", UID: "a"}, policy: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.IfLost = v1alpha1.LossKeep },
			want: func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }},
		"under a delegation": {caller: selects(user.DefaultInfo{Name: "alice", UID: "a"}, selection.AuthorityDelegationKind, "parent"),
			policy: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.IfLost = v1alpha1.LossKeep },
			want: func(d *v1alpha1.AuthorityDelegation) {
				d.Status.History, d.Status.ExpirationTimestamp = []v1alpha1.ChainEntry{parent}, after(time.Hour)
			}},
		"a namespace that only storage knows": {caller: &user.DefaultInfo{Name: "alice", UID: "a"}, namespace: "new", want: func(d *v1alpha1.AuthorityDelegation) {
			d.Spec.Scope.Namespace, d.Status.NamespaceUID = "new", "stored-uid"
		}},
		"a namespace that nobody knows": {caller: &user.DefaultInfo{Name: "alice"}, namespace: "gone", refusal: refusal{apierrors.IsNotFound, "gone"}},
		"no namespace":                  {caller: &user.DefaultInfo{Name: "alice"}, namespace: "-", refusal: isNotHeldBecause("configmaps is a cluster-scoped resource")},
		"nobody":                        {refusal: isNotHeldBecause("only an authenticated user")},
		"anonymous":                     {caller: &user.DefaultInfo{Name: user.Anonymous}, refusal: isNotHeldBecause("only an authenticated user")},
		"without a name":                {caller: &user.DefaultInfo{}, refusal: isNotHeldBecause("only an authenticated user")},
		"a delegate":                    {caller: &user.DefaultInfo{Name: "bot"}, refusal: isNotHeldBecause("nobody can delegate to themselves")},
		"an account that is gone":       {caller: &user.DefaultInfo{Name: robot}, refusal: isNotHeldBecause("the account can't be read")},
		"under one that is gone":        {caller: selects(user.DefaultInfo{Name: "alice"}, selection.AuthorityDelegationKind, "gone"), refusal: isNotHeldBecause("does not exist")},
		"under one that may be gone":    {caller: selects(user.DefaultInfo{Name: "alice"}, selection.AuthorityDelegationKind, "unsure"), refusal: refusal{apierrors.IsServiceUnavailable, "try again"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new", UID: "stored-uid"}})
			s.index.Connect(delegation.Sources{
				Namespace: func(name string) types.UID { return map[string]types.UID{"n": "n-uid"}[name] },
				Accounts: delegation.NewAccounts(func(string, string) types.UID { return "" },
					func(context.Context, string, string) (types.UID, error) { return "", errors.New("no answer") })})
			above, unsure := stored("parent", "carol", []v1alpha1.Delegate{toUser("alice")}, readPods), stored("unsure", robot, []v1alpha1.Delegate{toUser("alice")}, readPods)
			above.Status.ExpirationTimestamp, unsure.Status.Delegator.UID = after(time.Hour), "r-1"
			s.index.Observe(above, false)
			s.index.Observe(unsure, false)
			p, ctx := delegationPolicy(readPods), s.ctx
			p.Status.Rules = readPods
			if tc.policy != nil {
				tc.policy(p)
			}
			if tc.caller != nil {
				ctx = s.by(tc.caller)
			}
			namespace := map[string]string{"": "n", "-": ""}[tc.namespace]
			if tc.namespace != "" && tc.namespace != "-" {
				namespace = tc.namespace
			}
			got, err := s.issuer.policyDelegation(ctx, policy.Compile(p), namespace)
			tc.check(t, err)
			if err != nil {
				return
			}
			want := &v1alpha1.AuthorityDelegation{
				Spec: v1alpha1.AuthorityDelegationSpec{Delegates: p.Spec.Delegates, Rules: readPods, IfLost: v1alpha1.LossWithdraw, Scope: v1alpha1.DelegationScope{Namespace: "n"}},
				Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice", UID: "a"}, Rules: readPods, NamespaceUID: "n-uid",
					Cause: &v1alpha1.DelegationCause{Policy: "p", UID: "p-uid", Resource: p.Spec.Resource, OrphanSeconds: v1alpha1.DefaultOrphanSeconds}},
			}
			if tc.want != nil {
				tc.want(want)
			}
			same(t, "delegation", want, got)
		})
	}
}

// TestIssue checks when a policy creates a delegation, and when it takes one that exists. In both cases the author must
// hold the rules.
func TestIssue(t *testing.T) {
	conflict := apierrors.NewConflict(delegationResource, "d", errors.New("changed"))
	exists := apierrors.NewAlreadyExists(delegationResource, "d")
	for name, tc := range map[string]struct {
		caller  string
		have    bool // one that the server knows
		stored  bool // one that only storage has
		dryRun  bool
		keep    bool
		change  func(*v1alpha1.AuthorityDelegation) // of the one that exists
		created error
		renewal error
		refusal
		name     int // the attempt that gives the name
		creates  bool
		renewals string
	}{
		"none exists":                        {caller: "alice", creates: true},
		"none exists, in a dry run":          {caller: "alice", dryRun: true},
		"none exists, for nobody":            {caller: "eve", refusal: refusal{isNotHeld, "not currently held"}},
		"none exists, in a nobody's dry run": {caller: "eve", dryRun: true, refusal: refusal{isNotHeld, "not currently held"}},
		"none exists, it can't be created":   {caller: "alice", created: apierrors.NewInternalError(errors.New("storage is broken")), refusal: refusal{apierrors.IsInternalError, "broken"}},
		"one exists":                         {caller: "alice", have: true},
		"one exists, for nobody":             {caller: "eve", have: true, refusal: refusal{isNotHeld, "not currently held"}},
		"one exists in storage":              {caller: "alice", stored: true, created: exists},
		"one existed in storage":             {caller: "alice", created: exists, refusal: refusal{apierrors.IsNotFound, "not found"}},
		"kept, as storage says":              {caller: "former", keep: true, refusal: refusal{isNotHeld, "not currently held"}},
		"withdrawn, as the cache says":       {caller: "former", creates: true},
		"kept, for one who holds the rules":  {caller: "alice", keep: true, creates: true},
		"one that has expired": {caller: "alice", have: true, change: func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = after(-time.Hour) },
			name: 1, creates: true},
		"one that is being deleted":               {caller: "alice", have: true, change: func(d *v1alpha1.AuthorityDelegation) { d.DeletionTimestamp = after(0) }, name: 1, creates: true},
		"one with more rules":                     {caller: "alice", have: true, change: func(d *v1alpha1.AuthorityDelegation) { d.Status.Rules = rules(on("*", "*")) }, name: 1, creates: true},
		"half of the lease is over":               {caller: "alice", have: true, change: aged(1800 * time.Second), renewals: "0s"},
		"half of the lease is over, in a dry run": {caller: "alice", have: true, change: aged(1800 * time.Second), dryRun: true},
		"less than half of the lease is over":     {caller: "alice", have: true, change: aged(1799 * time.Second)},
		"it changes while it is renewed":          {caller: "alice", have: true, change: aged(time.Hour), renewal: conflict, renewals: "0s", name: 1, creates: true},
		"it is gone when it is renewed":           {caller: "alice", have: true, change: aged(time.Hour), renewal: apierrors.NewNotFound(delegationResource, "d"), renewals: "0s", name: 1, creates: true},
		"it can't be renewed":                     {caller: "alice", have: true, change: aged(time.Hour), renewal: apierrors.NewInternalError(errors.New("storage is broken")), renewals: "0s", refusal: refusal{apierrors.IsInternalError, "broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newScene(t, granted("reader", readPods, "alice")...), delegationPolicy(readPods)
			// The cache is behind: former has lost the role by now.
			s.issuer.Cached, s.renewal = storage{fake.NewClientset(granted("reader", readPods, "alice", "former")...)}.rbacReaders(), tc.renewal
			if p.Status.Rules = readPods; tc.keep {
				p.Spec.IfLost = v1alpha1.LossKeep
			}
			issuer := s.policies(t, p)
			w := issuer.forWrite(requesting(s.by(&user.DefaultInfo{Name: tc.caller}), "create", "", "configmaps"), tc.dryRun)
			compiled := issuer.Policies.For(w.requested)[0]
			want, err := s.issuer.policyDelegation(w.ctx, compiled, "n")
			if err != nil {
				t.Fatal(err)
			}
			names := contentNames(want)
			old := want.DeepCopy()
			old.Name, old.UID, old.ResourceVersion, old.CreationTimestamp = names(0), "old", "2", metav1.NewTime(present)
			if tc.change != nil {
				tc.change(old)
			}
			if tc.have {
				s.index.Observe(old, false)
			}
			if tc.created != nil {
				issuer.Create = func(context.Context, *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
					return nil, tc.created
				}
			}
			s.connect(delegation.Sources{Get: func(_ context.Context, name string) (*v1alpha1.AuthorityDelegation, error) {
				if tc.stored {
					return old, nil
				}
				return nil, apierrors.NewNotFound(delegationResource, name)
			}})
			got, err := w.delegationFor(compiled, "n")
			tc.check(t, err)
			if (len(s.created) > 0) != tc.creates {
				t.Errorf("%d delegations were created", len(s.created))
			}
			if renewals := strings.TrimPrefix(strings.Join(s.renewed, ","), names(0)+" "); renewals != tc.renewals {
				t.Errorf("renewed %q, wanted %q", renewals, tc.renewals)
			}
			if err == nil && got.Name != names(tc.name) {
				t.Errorf("delegation %q, wanted %q", got.Name, names(tc.name))
			}
			if err == nil && !tc.creates && !tc.dryRun && got.UID != "old" {
				t.Errorf("UID %q", got.UID)
			}
		})
	}
}

// aged changes a delegation so that its lease has lasted for some time.
func aged(d time.Duration) func(*v1alpha1.AuthorityDelegation) {
	return func(old *v1alpha1.AuthorityDelegation) { old.CreationTimestamp = *after(-d) }
}
