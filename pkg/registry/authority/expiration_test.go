// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// TestOnlyTheExpiration checks that the subresource takes only the expiration time from a client.
func TestOnlyTheExpiration(t *testing.T) {
	old := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "u", ResourceVersion: "1", Generation: 1}}
	old.Spec.Scope.Cluster, old.Spec.IfLost = true, v1alpha1.LossWithdraw
	old.Status.Delegator.Username = "alice"
	sent := old.DeepCopyObject().(*authority.AuthorityDelegation)
	until := metav1.NewTime(time.Unix(1000, 0))
	sent.Spec = v1alpha1.AuthorityDelegationSpec{ExpirationTimestamp: &until, IfLost: v1alpha1.LossKeep}
	sent.Labels, sent.Finalizers, sent.Status.Delegator.Username = map[string]string{"a": "b"}, []string{"example.com/a"}, "bot"
	sent.GenerateName, sent.Annotations = "other-", map[string]string{"a": "b"}
	expirationStrategy{}.PrepareForUpdate(t.Context(), sent, old)
	switch {
	case !sent.Spec.ExpirationTimestamp.Equal(&until) || !sent.Status.ExpirationTimestamp.Equal(&until):
		t.Errorf("%v, %v", sent.Spec.ExpirationTimestamp, sent.Status.ExpirationTimestamp)
	case sent.Spec.IfLost != v1alpha1.LossWithdraw || !sent.Spec.Scope.Cluster || sent.Status.Delegator.Username != "alice" || sent.Labels != nil || sent.Annotations != nil || sent.Finalizers != nil || sent.GenerateName != "":
		t.Errorf("%+v", sent)
	case sent.Generation != 2:
		t.Errorf("generation %d", sent.Generation)
	}
}

// TestOwnBeforePatch checks that the server finds out whose delegation it is before it applies a patch.
func TestOwnBeforePatch(t *testing.T) {
	foreign := errors.New("another user's")
	applied := false
	info := ownObjectInfo{
		rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, newObj, _ runtime.Object) (runtime.Object, error) {
			applied = true
			return newObj, nil
		}),
		func(_ context.Context, d *v1alpha1.AuthorityDelegation) error {
			if d.Status.Delegator.Username != "alice" {
				return foreign
			}
			return nil
		},
	}
	d := &authority.AuthorityDelegation{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "u"}}
	d.Status.Delegator.Username = "bot"
	if _, err := info.UpdatedObject(t.Context(), d); !errors.Is(err, foreign) || applied {
		t.Errorf("%v, applied: %t", err, applied)
	}
	d.Status.Delegator.Username = "alice"
	if _, err := info.UpdatedObject(t.Context(), d); err != nil || !applied {
		t.Errorf("%v, applied: %t", err, applied)
	}
	// The store has no such delegation, and says so later.
	if _, err := info.UpdatedObject(t.Context(), &authority.AuthorityDelegation{}); err != nil {
		t.Errorf("no delegation: %v", err)
	}
	conflict := errors.New("the patch does not apply")
	info.UpdatedObjectInfo = rest.DefaultUpdatedObjectInfo(nil, func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) {
		return nil, conflict
	})
	if _, err := info.UpdatedObject(t.Context(), d); !errors.Is(err, conflict) {
		t.Errorf("a patch that does not apply: %v", err)
	}
}

// TestExpirationRequests checks that the subresource writes only the expiration time, waits for the
// writes that the delegation allowed, and passes errors on.
func TestExpirationRequests(t *testing.T) {
	s := openDelegations(t)
	ctx := as("jane")
	if _, err := s.delegationREST.Create(ctx, delegationOf("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.logged(t, "a creation", "stored a")
	until := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	update := func(name string) (*authority.AuthorityDelegation, error) {
		info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			next := old.DeepCopyObject().(*authority.AuthorityDelegation)
			next.Name, next.Spec.ExpirationTimestamp, next.Spec.IfLost = name, &until, v1alpha1.LossKeep
			return next, nil
		})
		obj, _, err := s.expiration.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc,
			true, &metav1.UpdateOptions{})
		if err != nil {
			return nil, err
		}
		return obj.(*authority.AuthorityDelegation), nil
	}
	if d, err := update("a"); err != nil || !d.Spec.ExpirationTimestamp.Equal(&until) || d.Spec.IfLost != v1alpha1.LossWithdraw {
		t.Errorf("ended: %+v, %v", d, err)
	}
	s.logged(t, "an end", "stored a", "waited")
	s.foreign = errors.New("another user's")
	if _, err := update("a"); !errors.Is(err, s.foreign) {
		t.Errorf("another user's: %v", err)
	}
	s.logged(t, "a refused end", "waited")
	if _, err := update("nothing"); !apierrors.IsNotFound(err) {
		t.Errorf("an end of nothing: %v", err)
	}
	if obj, err := s.expiration.Get(ctx, "a", &metav1.GetOptions{}); err != nil || obj.(*authority.AuthorityDelegation).Name != "a" {
		t.Errorf("read: %v, %v", obj, err)
	}
	if _, err := s.expiration.Get(ctx, "nothing", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("nothing is read: %v", err)
	}
	if _, err := s.expiration.ConvertToTable(ctx, attribute("a"), nil); err == nil {
		t.Error("the table of delegations takes a protected attribute")
	}
	reset := s.expiration.GetResetFields()["authority.kube-granular.dev/v1alpha1"]
	if reset == nil || !reset.Has(fieldpath.MakePathOrDie("spec", "rules")) {
		t.Errorf("reset are %v", reset)
	}
}

// TestExpirationResetsTheRest checks that server-side apply owns no field by the subresource but the
// expiration time.
func TestExpirationResetsTheRest(t *testing.T) {
	reset := expirationStrategy{}.GetResetFields()["authority.kube-granular.dev/v1alpha1"]
	spec := reflect.TypeFor[v1alpha1.AuthorityDelegationSpec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		if got, want := reset.Has(fieldpath.MakePathOrDie("spec", name)), name != "expirationTimestamp"; got != want {
			t.Errorf("spec.%s is reset: %t, want %t", name, got, want)
		}
	}
	if !reset.Has(fieldpath.MakePathOrDie("status")) {
		t.Error("the status is not reset")
	}
}

// TestProblemsAreShown checks that problems are set in single delegations and in lists.
func TestProblemsAreShown(t *testing.T) {
	show := showProblems(func(d *v1alpha1.AuthorityDelegation) []string {
		if d.Name == "bad" {
			return []string{"it is"}
		}
		return nil
	})
	bad, good := authority.AuthorityDelegation{}, authority.AuthorityDelegation{}
	bad.Name, good.Status.Problems = "bad", []string{"an old one"}
	list := &authority.AuthorityDelegationList{Items: []authority.AuthorityDelegation{bad, good}}
	show(list)
	show(&bad)
	if !slices.Equal(bad.Status.Problems, []string{"it is"}) || !slices.Equal(list.Items[0].Status.Problems, []string{"it is"}) || list.Items[1].Status.Problems != nil {
		t.Errorf("%v, %+v", bad.Status.Problems, list.Items)
	}
}

// TestDelegatorRole checks that the bootstrap role allows no verb on delegations that RBAC can't limit
// to the holder's own.
func TestDelegatorRole(t *testing.T) {
	for _, role := range (&Provider{Delegations: &Delegations{}}).policy().ClusterRoles {
		if role.Name != DelegatorRole {
			continue
		}
		verbs := map[schema.GroupResource][]string{}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				verbs[schema.GroupResource{Group: rule.APIGroups[0], Resource: resource}] = rule.Verbs
			}
		}
		if got := verbs[v1alpha1.Resource("authoritydelegations")]; !slices.Equal(got, []string{"create", "get", "list", "watch"}) {
			t.Errorf("delegations: %v", got)
		}
		if got := verbs[v1alpha1.Resource("authoritydelegations/expiration")]; !slices.Equal(got, []string{"get", "patch", "update"}) || len(verbs) != 2 {
			t.Errorf("%v", verbs)
		}
		return
	}
	t.Error("no role")
}
