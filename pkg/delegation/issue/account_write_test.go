// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/kubernetes/fake"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

// updaters is an authorizer that allows jane to update service accounts, and nobody anything else.
type updaters struct{}

func (updaters) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.GetUser().GetName() == "broken":
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer fails")
	case a.GetUser().GetName() == "jane" && a.GetVerb() == "update" && a.GetResource() == "serviceaccounts" && a.GetSubresource() == "" && a.GetAPIGroup() == "" &&
		a.GetNamespace() == "agents" && a.GetName() == "scaler" && a.IsResourceRequest():
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "no role allows it", nil
}

const (
	toD     = `{"name":"d","uid":"d"}`
	toOther = `{"name":"other","uid":"other"}`
)

func scaler(annotation string) *corev1.ServiceAccount {
	out := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "agents", Name: "scaler", UID: "s-1", ResourceVersion: "1", Annotations: map[string]string{"own": "x"}}}
	if annotation != "-" {
		out.Annotations[selection.BindingAnnotation] = annotation
	}
	return out
}

// bindingChecks returns the final checks of a server with some delegations to agents/scaler.
func bindingChecks(t *testing.T, delegates ...v1alpha1.Delegate) FinalChecks {
	t.Helper()
	x := delegation.NewIndex()
	x.Connect(delegation.Sources{Get: func(_ context.Context, name string) (*v1alpha1.AuthorityDelegation, error) {
		switch name {
		case "peer":
			return delegationOf("peer", "s-1"), nil
		case "unreadable":
			return nil, errors.New("etcd is away")
		}
		return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
	}})
	ended := delegationOf("ended", "s-1")
	ended.Status.ExpirationTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	issued := delegationOf("issued", "s-1")
	issued.Status.Cause = &v1alpha1.DelegationCause{Policy: "p", UID: "p"}
	for _, d := range []*v1alpha1.AuthorityDelegation{delegationOf("d", "s-1"), delegationOf("other", "s-1"), delegationOf("no-uid", ""), delegationOf("another-uid", "s-2"), ended, issued} {
		x.Observe(d, false)
	}
	policies := policy.NewIndex()
	if err := policies.ReflectorStore().Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	policies.Observe(&v1alpha1.AuthorityDelegationPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", ResourceVersion: "2"},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource{Resource: "secrets"}, Delegates: delegates}}, false)
	return FinalChecks{Delegations: x, Policies: &PolicyIssuer{Policies: policies,
		Issuer: &Issuer{Delegations: x, Authorizer: updaters{}, Client: fake.NewClientset(), Now: time.Now}}}
}

// delegationOf returns a delegation to agents/scaler. Its UID is its name.
func delegationOf(name string, account types.UID) *v1alpha1.AuthorityDelegation {
	return &v1alpha1.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: v1alpha1.AuthorityDelegationSpec{Scope: v1alpha1.DelegationScope{Cluster: true},
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler", UID: account}}},
	}
}

func selectsRole(name string) user.Info {
	return &user.DefaultInfo{Name: name, Extra: map[string][]string{selection.ExtraKey: {`{"authorityReference":{"kind":"ClusterRole","name":"r"}}`}}}
}

// write makes the final check of a write of a service account.
func (f FinalChecks) write(t *testing.T, as user.Info, resource string, before, after runtime.Object) error {
	t.Helper()
	ctx := request.WithUser(t.Context(), as)
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "update", Resource: resource, Namespace: "agents", Name: "scaler"})
	check := f.Commit(ctx, false)
	if check == nil {
		t.Fatal("the write gets no final check")
	}
	defer check.End()
	check.Before(before)
	return check.Begin(after)
}

// TestAccountWrite checks who may set, change and remove the annotation that binds a service account, and what is
// stored. "-" is an account without the annotation.
//
// Attack: any write that sets, changes, empties or leaves out the annotation of an account, without consent of both sides
// Answer: 403 or 422, or the annotation stays
func TestAccountWrite(t *testing.T) {
	jane, eve := &user.DefaultInfo{Name: "jane"}, &user.DefaultInfo{Name: "eve"}
	for name, tc := range map[string]struct {
		as            user.Info
		before, after string
		stored        string // the annotation afterwards, if the write is stored
		says          string // why the write is refused
	}{
		"bind":                               {as: jane, before: "-", after: toD, stored: toD},
		"bind elsewhere":                     {as: jane, before: toD, after: toOther, stored: toOther},
		"release":                            {as: jane, before: toD, after: "", stored: "-"},
		"nothing changes":                    {as: eve, before: toD, after: toD, stored: toD},
		"no annotation":                      {as: eve, before: "-", after: "-", stored: "-"},
		"leave it out":                       {as: jane, before: toD, after: "-", stored: toD},
		"leave it out without update":        {as: eve, before: toD, after: "-", stored: toD},
		"leave it out while selecting":       {as: selectsRole("jane"), before: toD, after: "-", stored: toD},
		"the same while selecting":           {as: selectsRole("jane"), before: toD, after: toD, stored: toD},
		"empty on a free account":            {as: jane, before: "-", after: "", stored: "-"},
		"bind without update":                {as: eve, before: "-", after: toD, says: "needs the verb update"},
		"bind elsewhere without update":      {as: eve, before: toD, after: toOther, says: "needs the verb update"},
		"release without update":             {as: eve, before: toD, after: "", says: "needs the verb update"},
		"bind while selecting":               {as: selectsRole("jane"), before: "-", after: toD, says: "while an authority is selected"},
		"bind elsewhere while selecting":     {as: selectsRole("jane"), before: toD, after: toOther, says: "while an authority is selected"},
		"release while selecting":            {as: selectsRole("jane"), before: toD, after: "", says: "while an authority is selected"},
		"authorizer fails":                   {as: &user.DefaultInfo{Name: "broken"}, before: "-", after: toD, says: "the authorizer fails"},
		"nonsense":                           {as: jane, before: "-", after: "d", says: "metadata.annotations"},
		"to none":                            {as: jane, before: "-", after: `{"name":"none","uid":"none"}`, says: "does not exist with this UID"},
		"to another UID":                     {as: jane, before: "-", after: `{"name":"d","uid":"e"}`, says: "does not exist with this UID"},
		"to one that names no UID":           {as: jane, before: "-", after: `{"name":"no-uid","uid":"no-uid"}`, says: "does not list the account with its UID"},
		"to one for an older account":        {as: jane, before: "-", after: `{"name":"another-uid","uid":"another-uid"}`, says: "does not list the account with its UID"},
		"to one that ended":                  {as: jane, before: "-", after: `{"name":"ended","uid":"ended"}`, says: "has ended"},
		"to one of a policy":                 {as: jane, before: "-", after: `{"name":"issued","uid":"issued"}`, says: "which a policy issued"},
		"to one that only a peer knows":      {as: jane, before: "-", after: `{"name":"peer","uid":"peer"}`, stored: `{"name":"peer","uid":"peer"}`},
		"to one that only a peer knows, not": {as: jane, before: "-", after: `{"name":"peer","uid":"x"}`, says: "does not exist with this UID"},
		"to one that can't be read":          {as: jane, before: "-", after: `{"name":"unreadable","uid":"x"}`, says: "etcd is away"},
	} {
		t.Run(name, func(t *testing.T) {
			f, before, after := bindingChecks(t), scaler(tc.before), scaler(tc.after)
			shared := after.Annotations
			sent := maps.Clone(shared)
			err := f.write(t, tc.as, "serviceaccounts", before, after)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v, wanted %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, ok := after.Annotations[selection.BindingAnnotation]
			if ok != (tc.stored != "-") || ok && got != tc.stored || after.Annotations["own"] != "x" {
				t.Errorf("stored %v, wanted %q", after.Annotations, tc.stored)
			}
			if !maps.Equal(shared, sent) {
				t.Error("a map that others may share was modified")
			}
		})
	}
}

// TestAccountWriteOfOthers checks the writes that are no plain update: creations, deletions at once and by a time, delegates
// of a policy, annotations that are too large together, objects without metadata, and other resources.
func TestAccountWriteOfOthers(t *testing.T) {
	jane := &user.DefaultInfo{Name: "jane"}
	isForbidden := func(err error) bool { return apierrors.IsForbidden(err) }
	none := func(err error) bool { return err == nil }
	deleting, deletingSince := scaler(toD), scaler(toD)
	deleting.DeletionTimestamp, deletingSince.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}, &metav1.Time{Time: time.Unix(1, 0)}
	large := scaler(toD)
	large.Annotations["own"] = strings.Repeat("x", 256*1024-len("own")-10)
	full := scaler("-")
	full.Annotations["own"] = large.Annotations["own"]
	empty := &corev1.ServiceAccount{}
	for name, tc := range map[string]struct {
		as            user.Info
		resource      string
		before, after runtime.Object
		delegates     []v1alpha1.Delegate
		want          func(error) bool
	}{
		"create bound":                      {as: jane, before: empty, after: scaler(toD), want: isForbidden},
		"create free":                       {as: jane, before: empty, after: scaler("-"), want: none},
		"delete":                            {as: jane, before: scaler(toD), want: none},
		"delete while selecting":            {as: selectsRole("jane"), before: scaler(toD), want: isForbidden},
		"delete a free one":                 {as: selectsRole("jane"), before: scaler("-"), want: none},
		"begin to delete":                   {as: jane, before: scaler(toD), after: deleting, want: none},
		"begin to delete while selecting":   {as: selectsRole("jane"), before: scaler(toD), after: deleting, want: isForbidden},
		"go on deleting while selecting":    {as: selectsRole("jane"), before: deletingSince, after: deleting, want: none},
		"delegate of a policy":              {as: jane, before: scaler("-"), after: scaler(toD), delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "scaler"}}, want: isForbidden},
		"delegate of a policy, as a user":   {as: jane, before: scaler("-"), after: scaler(toD), delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "system:serviceaccount:agents:scaler"}}, want: isForbidden},
		"neighbour is delegate of a policy": {as: jane, before: scaler("-"), after: scaler(toD), delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateServiceAccount, Namespace: "agents", Name: "other"}}, want: none},
		"leave it out, full":                {as: jane, before: scaler(toD), after: full, want: apierrors.IsRequestEntityTooLargeError},
		"another resource":                  {as: jane, resource: "pods", before: scaler("-"), after: scaler(toD), want: none},
		"no metadata":                       {as: jane, before: scaler("-"), after: &metav1.Status{}, want: none},
	} {
		t.Run(name, func(t *testing.T) {
			f, resource := bindingChecks(t, tc.delegates...), tc.resource
			if resource == "" {
				resource = "serviceaccounts"
			}
			if err := f.write(t, tc.as, resource, tc.before, tc.after); !tc.want(err) {
				t.Error(err)
			}
		})
	}
}

// TestAccountWriteKeeps checks that an update that sends no annotations at all keeps the binding, and that its
// author is warned.
func TestAccountWriteKeeps(t *testing.T) {
	var warned warnings
	ctx := request.WithUser(warning.WithWarningRecorder(t.Context(), &warned), &user.DefaultInfo{Name: "eve"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "update", Resource: "serviceaccounts", Namespace: "agents", Name: "scaler"})
	check, bare := bindingChecks(t).Commit(ctx, false), scaler("-")
	bare.Annotations = nil
	check.Before(scaler(toD))
	if err := check.Begin(bare); err != nil || bare.Annotations[selection.BindingAnnotation] != toD {
		t.Errorf("%v, stored %v", err, bare.Annotations)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "set it to the empty value") {
		t.Errorf("%q", warned)
	}
}

// TestAccountWriteOnly checks that only writes of service accounts get the check.
func TestAccountWriteOnly(t *testing.T) {
	f := bindingChecks(t)
	for info, want := range map[*request.RequestInfo]bool{
		{IsResourceRequest: true, Resource: "serviceaccounts"}:                          true,
		{IsResourceRequest: true, Resource: "serviceaccounts", APIGroup: "example.com"}: false,
		{IsResourceRequest: true, Resource: "pods"}:                                     false,
		{Resource: "serviceaccounts"}:                                                   false,
	} {
		ctx := request.WithRequestInfo(t.Context(), info)
		if got := f.Policies.forAccount(ctx, &user.DefaultInfo{Name: "jane"}, false) != nil; got != want {
			t.Errorf("%+v: %t", info, got)
		}
	}
	if f.Policies.forAccount(t.Context(), &user.DefaultInfo{Name: "jane"}, false) != nil {
		t.Error("a write of no known request")
	}
}

// TestAccountWriteRetried checks that a write that is tried again, because somebody else was first, is checked with the
// object that is stored then.
func TestAccountWriteRetried(t *testing.T) {
	ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "eve"})
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{IsResourceRequest: true, Verb: "update", Resource: "serviceaccounts", Namespace: "agents", Name: "scaler"})
	f := bindingChecks(t)
	check := f.Commit(ctx, false)
	check.Before(scaler(toD))
	if err := check.Begin(scaler(toD)); err != nil {
		t.Error(err)
	}
	check.End()
	check.Before(scaler(toOther)) // bound to another delegation meanwhile
	if err := check.Begin(scaler(toD)); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
	check.End()
	check = f.Commit(request.WithUser(ctx, &user.DefaultInfo{Name: "jane"}), false)
	check.Before(scaler(toOther))
	if err := check.Begin(scaler(toD)); err != nil {
		t.Error(err)
	}
	check.End()
	check.Before(&corev1.ServiceAccount{}) // deleted meanwhile: a creation
	if err := check.Begin(scaler(toD)); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
	check.End()
}

// TestAccountWritePoliciesNotRead checks that no account is bound before the policies are read.
func TestAccountWritePoliciesNotRead(t *testing.T) {
	f := bindingChecks(t)
	f.Policies.Policies = policy.NewIndex()
	c := &accountWrite{PolicyIssuer: f.Policies, ctx: t.Context(), caller: &user.DefaultInfo{Name: "jane"}}
	c.observeOld(scaler("-"))
	if err := c.check(scaler(toD)); !apierrors.IsServiceUnavailable(err) {
		t.Error(err)
	}
}
