// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// owners returns owner references to ConfigMaps with these UIDs.
func owners(uids ...types.UID) (out []metav1.OwnerReference) {
	for _, uid := range uids {
		out = append(out, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "o", UID: uid})
	}
	return out
}

// TestOwners checks that under a delegation a new owner need the verb delete on the object.
//
// Attack: under a delegation without `delete`, the caller gives an object an owner that does not exist, so that the garbage collector deletes it
// Answer: got through; now 403
func TestOwners(t *testing.T) {
	const may = "delete configmaps default/c"
	other := owners("a")
	other[0].Kind = "Secret"
	for name, tc := range map[string]struct {
		before, after []metav1.OwnerReference
		may           []string
		fails         []string
		creates       bool
		kind          selection.Kind
		refusal
	}{
		"no owner":                   {},
		"the same owner":             {before: owners("a"), after: owners("a")},
		"no owner any more":          {before: owners("a", "b")},
		"an owner less":              {before: owners("a", "b"), after: owners("b"), refusal: refusal{apierrors.IsForbidden, "need the verb delete"}},
		"an owner less, with delete": {before: owners("a", "b"), after: owners("b"), may: []string{may}},
		"a new owner":                {after: owners("a"), refusal: refusal{apierrors.IsForbidden, "need the verb delete"}},
		"a new owner, with delete":   {after: owners("a"), may: []string{may}},
		"one more":                   {before: owners("a"), after: owners("a", "b"), refusal: refusal{apierrors.IsForbidden, "need the verb delete"}},
		"another kind of that owner": {before: owners("a"), after: other, refusal: refusal{apierrors.IsForbidden, "need the verb delete"}},
		"the authorizer fails":       {after: owners("a"), fails: []string{may}, refusal: refusal{apierrors.IsInternalError, "no answer"}},
		"a new object":               {after: owners("a"), creates: true},
		"under a role":               {after: owners("a"), kind: selection.ClusterRoleKind},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.permitted.requests, s.permitted.fails = tc.may, tc.fails
			s.index.Observe(stored("d", "carol", []v1alpha1.Delegate{toUser("bot")}, readPods), false)
			if tc.kind == "" {
				tc.kind = selection.AuthorityDelegationKind
			}
			caller := selecting(user.DefaultInfo{Name: "bot"}, tc.kind, "d")
			ctx := request.WithRequestInfo(s.by(caller), &request.RequestInfo{IsResourceRequest: true, Verb: "update", Resource: "configmaps",
				Namespace: "default", Name: "c"})
			check := FinalChecks{Delegations: s.index, Policies: s.policies(t)}.Commit(ctx, false)
			if check == nil && tc.kind == selection.ClusterRoleKind {
				return
			}
			old, obj := configMap("1"), configMap("1")
			old.OwnerReferences, obj.OwnerReferences = tc.before, tc.after
			old.Namespace, old.Name, old.UID = "default", "c", "c"
			if tc.creates {
				old = &corev1.ConfigMap{}
			}
			check.Before(old)
			err := check.Begin(obj)
			check.End()
			tc.check(t, err)
		})
	}
}

// TestAccountOwners checks that a bound account has no owners: whoever deletes them would free its name.
//
// Attack: a bound account, or one that is bound afterwards, gets an owner, so that the garbage collector deletes the account and another one of its name is free
// Answer: got through; now 403
func TestAccountOwners(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane"}
	loan := []metav1.OwnerReference{{APIVersion: "authority.kube-granular.dev/v1alpha1", Kind: "AuthorityDelegation", Name: "d", UID: "d"}}
	for name, tc := range map[string]struct {
		as            user.Info
		before, after string
		stored, sent  []metav1.OwnerReference
		refused       bool
	}{
		"a free account":                     {as: jane, before: "-", after: "-", sent: owners("a")},
		"a bound account":                    {as: jane, before: toD, after: toD, sent: owners("a"), refused: true},
		"a bound account, while selecting":   {as: selectsRole("jane"), before: toD, after: toD, sent: owners("a"), refused: true},
		"and the annotation is left out":     {as: jane, before: toD, after: "-", sent: owners("a"), refused: true},
		"and the account is released":        {as: jane, before: toD, after: "", sent: owners("a")},
		"bind an account with an owner":      {as: jane, before: "-", after: toD, stored: owners("a"), sent: owners("a"), refused: true},
		"bind, and take the owner away":      {as: jane, before: "-", after: toD, stored: owners("a")},
		"a bound account that has an owner":  {as: jane, before: toD, after: toD, stored: owners("a"), sent: owners("a")},
		"bind elsewhere, with the old owner": {as: jane, before: toD, after: toOther, stored: owners("a"), sent: owners("a"), refused: true},
		"bind elsewhere, a loan":             {as: jane, before: toD, after: toOther, stored: loan, sent: loan, refused: true},
		"bind, with the delegation":          {as: jane, before: "-", after: toD, sent: loan},
		"bind, with another delegation":      {as: jane, before: "-", after: toOther, sent: loan, refused: true},
		"bind what has the delegation":       {as: jane, before: "-", after: toD, stored: loan, sent: loan, refused: true},
		"the delegation later":               {as: jane, before: toD, after: toD, sent: loan},
		"the delegation, while selecting":    {as: selectsRole("jane"), before: toD, after: toD, sent: loan, refused: true},
		"a loan stays":                       {as: selectsRole("jane"), before: toD, after: toD, stored: loan, sent: loan},
		"the owner of a bound account ends":  {as: jane, before: toD, after: toD, stored: owners("a")},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := scaler(tc.before), scaler(tc.after)
			before.OwnerReferences, after.OwnerReferences = tc.stored, tc.sent
			err := bindingChecks(t).write(t, tc.as, "serviceaccounts", before, after)
			if refused := apierrors.IsForbidden(err); refused != tc.refused || err != nil && !refused {
				t.Errorf("%v, refused should be %t", err, tc.refused)
			}
		})
	}
}
