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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
)

const updateRobot = "update serviceaccounts n/robot"

// bound returns the service account robot with a value of the annotation that binds it, or without that annotation.
func bound(value ...string) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "robot", UID: "r-1", Annotations: map[string]string{"a": "b"}}}
	for _, v := range value {
		a.Annotations[selection.BindingAnnotation] = v
	}
	return a
}

func bindingTo(name string) string {
	text, err := selection.Binding{Name: name, UID: types.UID(name + "-uid")}.Text()
	if err != nil {
		panic(err)
	}
	return text
}

func deleted(a *corev1.ServiceAccount) *corev1.ServiceAccount {
	moment := metav1.NewTime(present)
	a.DeletionTimestamp = &moment
	return a
}

// TestBindAccount checks which writes of a service account may change the delegation to which it is bound.
//
// Attack: a service account that acts under a delegation frees itself: it changes, leaves out or deletes what binds it
// Answer: 403, and what is left out stays
func TestBindAccount(t *testing.T) {
	alice := user.DefaultInfo{Name: "alice"}
	byRole, itself := selects(alice, selection.ClusterRoleKind, "r"), selects(user.DefaultInfo{Name: robot}, selection.AuthorityDelegationKind, "d")
	may, none := []string{updateRobot}, bound()
	empty := &corev1.ServiceAccount{}
	for name, tc := range map[string]struct {
		caller   user.Info
		may      []string
		old, obj runtime.Object
		refusal
		want  *string // the annotation afterwards, or nil for none
		warns bool
	}{
		"binds":                                 {&alice, may, none, bound(bindingTo("d")), refusal{}, new(bindingTo("d")), false},
		"binds, without update":                 {&alice, nil, none, bound(bindingTo("d")), refusal{apierrors.IsForbidden, "needs the verb update"}, nil, false},
		"binds another with update":             {&alice, []string{"update serviceaccounts n/other"}, none, bound(bindingTo("d")), refusal{apierrors.IsForbidden, "needs the verb update"}, nil, false},
		"binds by a role":                       {byRole, may, none, bound(bindingTo("d")), refusal{apierrors.IsForbidden, "while an authority is selected"}, nil, false},
		"binds what is new":                     {&alice, may, empty, bound(bindingTo("d")), refusal{apierrors.IsForbidden, "only on an account that exists"}, nil, false},
		"binds what is created":                 {&alice, may, nil, bound(bindingTo("d")), refusal{apierrors.IsForbidden, "only on an account that exists"}, nil, false},
		"binds by what is no binding":           {&alice, may, none, bound("d"), refusal{apierrors.IsInvalid, "metadata.annotations[" + selection.BindingAnnotation + "]"}, nil, false},
		"binds to what does not exist":          {&alice, may, none, bound(bindingTo("gone")), refusal{apierrors.IsForbidden, "does not exist with this UID"}, nil, false},
		"binds to another of the name":          {&alice, may, none, bound(`{"name":"d","uid":"other"}`), refusal{apierrors.IsForbidden, "does not exist with this UID"}, nil, false},
		"binds to one that does not list it":    {&alice, may, none, bound(bindingTo("unlisted")), refusal{apierrors.IsForbidden, "does not list the account"}, nil, false},
		"binds to one that lists any UID":       {&alice, may, none, bound(bindingTo("unfixed")), refusal{apierrors.IsForbidden, "does not list the account"}, nil, false},
		"binds to one that has ended":           {&alice, may, none, bound(bindingTo("ended")), refusal{apierrors.IsForbidden, "has ended"}, nil, false},
		"binds to one of a policy":              {&alice, may, none, bound(bindingTo("of-policy")), refusal{apierrors.IsForbidden, "which a policy issued"}, nil, false},
		"binds to one that is only stored":      {&alice, may, none, bound(bindingTo("stored")), refusal{}, new(bindingTo("stored")), false},
		"binds to another that is only stored":  {&alice, may, none, bound(`{"name":"stored","uid":"other"}`), refusal{apierrors.IsForbidden, "does not exist with this UID"}, nil, false},
		"binds to what can't be read":           {&alice, may, none, bound(bindingTo("unreadable")), refusal{apierrors.IsInternalError, "broken"}, nil, false},
		"binds to another than before":          {&alice, may, bound(bindingTo("stored")), bound(bindingTo("d")), refusal{}, new(bindingTo("d")), false},
		"the same, by a role":                   {byRole, nil, bound(bindingTo("d")), bound(bindingTo("d")), refusal{}, new(bindingTo("d")), false},
		"left out":                              {&alice, nil, bound(bindingTo("d")), bound(), refusal{}, new(bindingTo("d")), true},
		"left out, with all annotations":        {&alice, nil, bound(bindingTo("d")), &corev1.ServiceAccount{}, refusal{}, new(bindingTo("d")), true},
		"left out, by the account":              {itself, nil, bound(bindingTo("d")), bound(), refusal{}, new(bindingTo("d")), true},
		"released":                              {&alice, may, bound(bindingTo("d")), bound(""), refusal{}, nil, false},
		"released, without update":              {&alice, nil, bound(bindingTo("d")), bound(""), refusal{apierrors.IsForbidden, "needs the verb update"}, nil, false},
		"released by the account":               {itself, may, bound(bindingTo("d")), bound(""), refusal{apierrors.IsForbidden, "while an authority is selected"}, nil, false},
		"released, though free":                 {&alice, may, none, bound(""), refusal{}, nil, false},
		"released, though free, without update": {&alice, nil, none, bound(""), refusal{apierrors.IsForbidden, "needs the verb update"}, nil, false},
		"free":                                  {&alice, nil, none, bound(), refusal{}, nil, false},
		"free, by a role":                       {byRole, nil, none, bound(), refusal{}, nil, false},
		"deleted":                               {&alice, nil, bound(bindingTo("d")), nil, refusal{}, nil, false},
		"deleted, by a role":                    {byRole, nil, bound(bindingTo("d")), nil, refusal{apierrors.IsForbidden, "can't be removed with the account"}, nil, false},
		"deleted, by a role, though free":       {byRole, nil, none, nil, refusal{}, nil, false},
		"marked as deleted":                     {&alice, nil, bound(bindingTo("d")), deleted(bound(bindingTo("d"))), refusal{}, new(bindingTo("d")), false},
		"marked as deleted, by a role":          {byRole, nil, bound(bindingTo("d")), deleted(bound(bindingTo("d"))), refusal{apierrors.IsForbidden, "can't be removed with the account"}, nil, false},
		"marked before, by a role":              {byRole, nil, deleted(bound(bindingTo("d"))), deleted(bound(bindingTo("d"))), refusal{}, new(bindingTo("d")), false},
		"marked when it is created, by a role":  {byRole, nil, nil, deleted(bound()), refusal{}, nil, false},
		"no account":                            {byRole, nil, nil, &metav1.Status{}, refusal{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sceneOfAccounts(t)
			s.requests = tc.may
			check := s.policies(t).forAccount(requesting(s.by(tc.caller), "update", "", "serviceaccounts"), tc.caller, false)
			if tc.old != nil {
				check.observeOld(tc.old)
			}
			var before map[string]string
			obj := tc.obj
			if a, ok := obj.(*corev1.ServiceAccount); ok {
				before = a.Annotations
				obj = a.DeepCopy()
			}
			err := check.check(obj)
			tc.check(t, err)
			if (len(s.warnings) > 0) != tc.warns || tc.warns && !strings.Contains(s.warnings[0], "stays") {
				t.Errorf("warnings %q", s.warnings)
			}
			a, ok := obj.(*corev1.ServiceAccount)
			if err != nil || !ok {
				return
			}
			got, found := a.Annotations[selection.BindingAnnotation]
			if found != (tc.want != nil) || found && got != *tc.want {
				t.Errorf("annotation %q, wanted %v", got, tc.want)
			}
			if before["a"] != a.Annotations["a"] {
				t.Errorf("annotations %v, were %v", a.Annotations, before)
			}
		})
	}
}

// sceneOfAccounts returns a scene with the delegations to which TestBindAccount binds the account robot.
func sceneOfAccounts(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	listed := []v1alpha1.Delegate{toAccount("n", "robot", "r-1")}
	ended, ofPolicy := stored("ended", "carol", listed, readPods), stored("of-policy", "carol", listed, readPods)
	ended.Status.ExpirationTimestamp = after(-time.Minute)
	ofPolicy.Status.Cause = &v1alpha1.DelegationCause{Policy: "p"}
	for _, d := range []*v1alpha1.AuthorityDelegation{ended, ofPolicy, stored("d", "carol", listed, readPods),
		stored("unlisted", "carol", []v1alpha1.Delegate{toAccount("n", "other", "r-1")}, readPods),
		stored("unfixed", "carol", []v1alpha1.Delegate{toAccount("n", "robot", "")}, readPods)} {
		s.index.Observe(d, false)
	}
	s.connect(delegation.Sources{Get: func(_ context.Context, name string) (*v1alpha1.AuthorityDelegation, error) {
		switch name {
		case "stored":
			return stored(name, "carol", listed, readPods), nil
		case "unreadable":
			return nil, apierrors.NewInternalError(errors.New("storage is broken"))
		}
		return nil, apierrors.NewNotFound(delegationResource, name)
	}})
	return s
}

// TestBindAfterReplacement checks that a delegation that was created anew under its name is read from storage, and that no
// account is bound to the one before.
func TestBindAfterReplacement(t *testing.T) {
	s := newScene(t)
	s.requests = []string{updateRobot}
	listed := []v1alpha1.Delegate{toAccount("n", "robot", "r-1")}
	s.index.Observe(stored("d", "carol", listed, readPods), false)
	s.connect(delegation.Sources{Get: func(context.Context, string) (*v1alpha1.AuthorityDelegation, error) {
		d := stored("d", "carol", listed, readPods)
		d.UID, d.ResourceVersion = "new", "5"
		return d, nil
	}})
	caller := &user.DefaultInfo{Name: "alice"}
	check := s.policies(t).forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
	check.observeOld(bound())
	refusal{}.check(t, check.check(bound(`{"name":"d","uid":"new"}`)))
}

// TestBindDelegateOfPolicy checks that no controller is bound that acts under the delegations of a policy: it could select
// them no more. As long as the policies are not read, nobody can be bound.
func TestBindDelegateOfPolicy(t *testing.T) {
	caller := &user.DefaultInfo{Name: "alice"}
	for name, tc := range map[string]struct {
		delegate v1alpha1.Delegate
		refusal
	}{
		"a delegate":                  {toAccount("n", "robot", ""), refusal{apierrors.IsForbidden, `is a delegate of AuthorityDelegationPolicy "p"`}},
		"a delegate by its user name": {toUser(robot), refusal{apierrors.IsForbidden, "is a delegate"}},
		"no delegate":                 {toAccount("n", "other", ""), refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := sceneOfAccounts(t), delegationPolicy(readPods)
			s.requests, p.Spec.Delegates = []string{updateRobot}, []v1alpha1.Delegate{toUser("bot"), tc.delegate}
			check := s.policies(t, p).forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
			check.observeOld(bound())
			tc.check(t, check.check(bound(bindingTo("d"))))
		})
	}
	s := sceneOfAccounts(t)
	s.requests = []string{updateRobot}
	unread := s.policies(t)
	unread.Policies = policy.NewIndex()
	check := unread.forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
	check.observeOld(bound())
	refusal{apierrors.IsServiceUnavailable, "has not read"}.check(t, check.check(bound(bindingTo("d"))))
}

// TestBindNoAnswer checks that no answer of the authorizer is neither a right nor a lack of it.
func TestBindNoAnswer(t *testing.T) {
	s, caller := sceneOfAccounts(t), &user.DefaultInfo{Name: "alice"}
	s.fails = []string{updateRobot}
	check := s.policies(t).forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
	check.observeOld(bound())
	refusal{apierrors.IsInternalError, "no answer"}.check(t, check.check(bound(bindingTo("d"))))
}

// TestBindingTooLarge checks that an annotation that stays does not make the annotations larger than an object may have.
func TestBindingTooLarge(t *testing.T) {
	s, caller := newScene(t), &user.DefaultInfo{Name: "alice"}
	check := s.policies(t).forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
	check.observeOld(bound(bindingTo("d")))
	full := bound()
	full.Annotations["a"] = strings.Repeat("x", 256<<10-10)
	refusal{apierrors.IsRequestEntityTooLargeError, "too large"}.check(t, check.check(full))
	if _, found := full.Annotations[selection.BindingAnnotation]; found {
		t.Error("the annotation was written nevertheless")
	}
}

// TestAccountWrites checks which requests are writes of service accounts, and that nothing is checked in others.
func TestAccountWrites(t *testing.T) {
	s, caller := newScene(t), &user.DefaultInfo{Name: "alice"}
	p := s.policies(t)
	for name, tc := range map[string]struct {
		info *request.RequestInfo
		want bool
	}{
		"service accounts":     {&request.RequestInfo{IsResourceRequest: true, Resource: "serviceaccounts"}, true},
		"of another group":     {&request.RequestInfo{IsResourceRequest: true, Resource: "serviceaccounts", APIGroup: "x.example"}, false},
		"pods":                 {&request.RequestInfo{IsResourceRequest: true, Resource: "pods"}, false},
		"a path":               {&request.RequestInfo{Resource: "serviceaccounts"}, false},
		"a request of no kind": {nil, false},
	} {
		ctx := s.by(caller)
		if tc.info != nil {
			ctx = request.WithRequestInfo(ctx, tc.info)
		}
		if got := p.forAccount(ctx, caller, false); (got != nil) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	// A stored object of an earlier attempt counts for nothing.
	w := p.forAccount(requesting(s.by(caller), "update", "", "serviceaccounts"), caller, false)
	w.observeOld(bound(bindingTo("d")))
	w.observeOld(&corev1.ServiceAccount{})
	if obj := bound(); w.check(obj) != nil || len(obj.Annotations) != 1 {
		t.Errorf("an account that was deleted meanwhile binds its successor: %v", obj.Annotations)
	}
	var none *accountWrite
	none.observeOld(bound(bindingTo("d")))
	if obj := bound(); none.check(obj) != nil || len(obj.Annotations) != 1 {
		t.Error("a write that is none of an account is checked")
	}
}
