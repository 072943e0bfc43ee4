// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/registry/rest"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/audit"
)

func delegationOf(name string, delegates ...v1alpha1.Delegate) *authority.AuthorityDelegation {
	if delegates == nil {
		delegates = []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bob"}}
	}
	return &authority.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.AuthorityDelegationSpec{
			Delegates: delegates,
			Rules:     []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}},
			Scope:     v1alpha1.DelegationScope{Namespace: "n"},
			IfLost:    v1alpha1.LossWithdraw,
		},
	}
}

// delegationStore is the storage of delegations, with a log of the calls that it makes.
type delegationStore struct {
	delegationREST
	*DelegationStorage
	expiration expirationREST
	log        []string
	// refusal is the error of Prepare, and foreign that of ConfirmOwn.
	refusal, foreign error
}

func openDelegations(t *testing.T) *delegationStore {
	t.Helper()
	s := &delegationStore{}
	provider := Provider{Delegations: &Delegations{
		Prepare: func(_ context.Context, d *v1alpha1.AuthorityDelegation) error {
			d.Status = v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "jane"}}
			return s.refusal
		},
		Observe: func(d *v1alpha1.AuthorityDelegation, gone bool) {
			s.log = append(s.log, map[bool]string{false: "stored ", true: "removed "}[gone]+d.Name)
		},
		WaitForCommits: func() { s.log = append(s.log, "waited") },
		ConfirmOwn:     func(context.Context, *v1alpha1.AuthorityDelegation) error { return s.foreign },
		Problems:       func(*v1alpha1.AuthorityDelegation) []string { return nil },
	}, Use: func(opened Opened) (Run, error) {
		s.DelegationStorage = opened.Delegations
		return nil, nil
	}}
	info, err := provider.NewRESTStorage(all, optionsOf{t})
	if err != nil {
		t.Fatal(err)
	}
	served := info.VersionedResourcesStorageMap["v1alpha1"]
	s.delegationREST, s.expiration = served[delegationsPlural].(delegationREST), served[expirationPath].(expirationREST)
	t.Cleanup(s.Destroy)
	until(t, func() bool { return s.Storage.Storage.ReadinessCheck() == nil })
	return s
}

// logged holds what was logged since the last call.
func (s *delegationStore) logged(t *testing.T, after string, want ...string) {
	t.Helper()
	if !slices.Equal(s.log, want) {
		t.Errorf("%s: %v, want %v", after, s.log, want)
	}
	s.log = nil
}

func (s *delegationStore) change(ctx context.Context, name string, options *metav1.UpdateOptions, f func(*authority.AuthorityDelegation)) error {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		next := old.DeepCopyObject().(*authority.AuthorityDelegation)
		f(next)
		return next, nil
	})
	_, _, err := s.delegationREST.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, options)
	return err
}

var dryRun = []string{metav1.DryRunAll}

// TestDelegationRequests holds that each request that stores or removes a delegation is reported
// before it is answered, that what takes authority away waits for the writes that go on, and that
// a dry run and a refused request report nothing.
func TestDelegationRequests(t *testing.T) {
	s := openDelegations(t)
	ctx := as("jane")
	create := func(d *authority.AuthorityDelegation, options *metav1.CreateOptions) error {
		_, err := s.delegationREST.Create(ctx, d, rest.ValidateAllObjectFunc, options)
		return err
	}
	remove := func(name string, options *metav1.DeleteOptions) error {
		_, _, err := s.delegationREST.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
		return err
	}
	forged := delegationOf("a")
	forged.Status.Delegator.Username = "somebody else"
	if err := create(forged, &metav1.CreateOptions{DryRun: dryRun}); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a dry run of a creation")
	if err := create(forged.DeepCopyObject().(*authority.AuthorityDelegation), &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a creation", "stored a")
	got, err := s.DelegationStorage.Get(ctx, "a")
	if err != nil || got.Status.Delegator.Username != "jane" || got.Generation != 1 || got.UID == "" {
		t.Errorf("stored %+v, %v", got, err)
	}
	if err := create(delegationOf("a"), &metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one: %v", err)
	}
	s.refusal = errors.New("not held")
	if err := create(delegationOf("b"), &metav1.CreateOptions{}); !errors.Is(err, s.refusal) {
		t.Errorf("a delegation that is refused: %v", err)
	}
	s.refusal = nil
	s.logged(t, "refused creations")

	later := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	expire := func(d *authority.AuthorityDelegation) { d.Spec.ExpirationTimestamp = &later }
	if err := s.change(ctx, "a", &metav1.UpdateOptions{DryRun: dryRun}, expire); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a dry run of an update", "waited")
	if err := s.change(ctx, "a", &metav1.UpdateOptions{}, expire); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "an update", "stored a", "waited")
	if err := s.change(ctx, "a", &metav1.UpdateOptions{}, func(d *authority.AuthorityDelegation) { d.Spec.Scope.Namespace = "m" }); !apierrors.IsInvalid(err) {
		t.Errorf("a change of what is immutable: %v", err)
	}
	s.logged(t, "a refused update", "waited")

	if err := remove("a", &metav1.DeleteOptions{DryRun: dryRun}); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a dry run of a deletion", "waited")
	if err := remove("a", &metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a deletion", "removed a", "waited")
	if err := remove("a", &metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a second deletion: %v", err)
	}
	s.logged(t, "a deletion of nothing", "waited")

	if err := create(delegationOf("c"), &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.delegationREST.DeleteCollection(ctx, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if last := len(s.log) - 1; !slices.Contains(s.log, "removed c") || s.log[last] != "waited" {
		t.Errorf("a deletion of all: %v", s.log)
	}
	ended, end := context.WithCancel(ctx)
	end()
	_, err = s.delegationREST.DeleteCollection(ended, rest.ValidateAllObjectFunc, &metav1.DeleteOptions{}, &metainternalversion.ListOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a deletion of all by a request that has ended: %v", err)
	}
}

// TestDelegationIsAudited holds that the audit event of a creation names the delegation, and that
// of a dry run or a refused creation names none.
func TestDelegationIsAudited(t *testing.T) {
	s := openDelegations(t)
	for _, step := range []struct {
		name    string
		options metav1.CreateOptions
		want    bool
	}{
		{"a dry run", metav1.CreateOptions{DryRun: dryRun}, false},
		{"a creation", metav1.CreateOptions{}, true},
		{"a second one", metav1.CreateOptions{}, false},
	} {
		ctx := upstreamaudit.WithAuditContext(as("jane"))
		if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: auditinternal.LevelMetadata}, nil); err != nil {
			t.Fatal(err)
		}
		out, err := s.delegationREST.Create(ctx, delegationOf("a"), rest.ValidateAllObjectFunc, &step.options)
		text, annotated := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(audit.DelegationAnnotation)
		want := ""
		if step.want {
			want = fmt.Sprintf(`{"name":"a","uid":%q}`, out.(*authority.AuthorityDelegation).UID)
		}
		if annotated != step.want || text != want {
			t.Errorf("%s: %q, want %q, error %v", step.name, text, want, err)
		}
	}
}

// TestDelegationSelectors holds by what delegations are found: their delegator, each of their
// delegates by the name that authentication gives it, and the policy that issued them.
func TestDelegationSelectors(t *testing.T) {
	d := delegationOf("a", v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bob"}, v1alpha1.Delegate{Kind: v1alpha1.DelegateGroup, Name: "team"},
		v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot"})
	d.Labels = map[string]string{"a": "b"}
	d.Status = v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "jane"}, Cause: &v1alpha1.DelegationCause{Policy: "p"}}
	labels, selectable, err := attributesOfDelegation(d)
	if err != nil || labels["a"] != "b" {
		t.Fatal(labels, err)
	}
	want := fields.Set{
		"metadata.name": "a", authority.SelectDelegator: "jane", authority.SelectPolicy: "p",
		authority.ListElementField(authority.SelectDelegate, "bob"):                           "true",
		authority.ListElementField(authority.SelectDelegateGroup, "team"):                     "true",
		authority.ListElementField(authority.SelectDelegate, "system:serviceaccount:n:robot"): "true",
	}
	if diff := cmp.Diff(want, selectable); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Status.Cause = nil
	if _, selectable, _ := attributesOfDelegation(d); selectable.Has(authority.SelectPolicy) {
		t.Error("a delegation without a policy is found by a policy")
	}
}

// TestDelegationStorage holds what the server itself does with delegations, and that a request's
// user has no part in it.
func TestDelegationStorage(t *testing.T) {
	s := openDelegations(t)
	ctx := as("jane")
	issued := (*v1alpha1.AuthorityDelegation)(delegationOf("by-policy-a"))
	issued.Status = v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "joe"}, Cause: &v1alpha1.DelegationCause{Policy: "p"}}
	created, err := s.DelegationStorage.Create(ctx, issued)
	if err != nil || created.UID == "" || created.CreationTimestamp.IsZero() || created.Generation != 1 || created.Status.Delegator.Username != "joe" {
		t.Fatalf("created %+v, %v", created, err)
	}
	if issued.UID != "" {
		t.Error("the argument was changed")
	}
	s.logged(t, "a creation by the server", "stored by-policy-a")
	if _, err := s.DelegationStorage.Create(ctx, issued); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := s.DelegationStorage.Get(ctx, "nothing"); !apierrors.IsNotFound(err) {
		t.Errorf("nothing is read: %v", err)
	}
	for name, f := range map[string]func() error{
		"WriteUse": func() error { return s.WriteUse(ctx, "a/b", time.Now()) },
		"Create": func() error {
			_, err := s.DelegationStorage.Create(ctx, (*v1alpha1.AuthorityDelegation)(delegationOf("a/b")))
			return err
		},
	} {
		if err := f(); err == nil {
			t.Errorf("%s with a name that can't be part of a key", name)
		}
	}
	for name, f := range map[string]func() error{
		"WriteUse": func() error { return s.WriteUse(ctx, "nothing", time.Now()) },
		"Renew": func() error {
			return s.Renew(ctx, &v1alpha1.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "nothing", UID: created.UID}}, time.Now())
		},
	} {
		if err := f(); !apierrors.IsNotFound(err) {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}

	// Times only advance: another server's later one is not overwritten.
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, step := range []struct{ at, want time.Time }{
		{noon, noon}, {noon.Add(-time.Hour), noon}, {noon, noon}, {noon.Add(time.Hour), noon.Add(time.Hour)},
	} {
		if err := errors.Join(s.WriteUse(ctx, created.Name, step.at), s.Renew(ctx, created, step.at)); err != nil {
			t.Fatal(err)
		}
		got, err := s.DelegationStorage.Get(ctx, created.Name)
		if err != nil || !got.Status.LastUsed.Time.Equal(step.want) || !got.Status.Cause.Renewed.Time.Equal(step.want) {
			t.Errorf("after %v: %+v, %v", step.at, got, err)
		}
	}

	other := created.DeepCopy()
	other.UID = "another"
	if err := s.Renew(ctx, other, noon.Add(2*time.Hour)); !apierrors.IsConflict(err) {
		t.Errorf("a delegation of the same name is renewed: %v", err)
	}
	if err := s.DeleteUnchanged(ctx, created); !apierrors.IsConflict(err) {
		t.Errorf("a delegation that changed is deleted: %v", err)
	}
	last, err := s.DelegationStorage.Get(ctx, created.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteUnchanged(ctx, last); err != nil {
		t.Errorf("a delegation that did not change: %v", err)
	}
	if err := s.DeleteUnchanged(ctx, last); err != nil {
		t.Errorf("a delegation that is gone: %v", err)
	}

	own, err := s.DelegationStorage.Create(ctx, (*v1alpha1.AuthorityDelegation)(delegationOf("own")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(ctx, own, noon); err != nil {
		t.Errorf("a delegation of no policy: %v", err)
	}
	if got, err := s.DelegationStorage.Get(ctx, "own"); err != nil || got.Status.Cause != nil {
		t.Errorf("a delegation of no policy has a cause: %+v, %v", got, err)
	}
	list, err := s.DelegationStorage.ListWatch.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil || len(list.(*authority.AuthorityDelegationList).Items) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if (detached{ctx}).Value("anything") != nil || detached.Err(detached{ctx}) != ctx.Err() {
		t.Error("the context of the server's own writes has values of the request")
	}
}
