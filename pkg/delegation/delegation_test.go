// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestCompileTimes holds when a delegation ends: at the earlier of its two ends, and after the
// latest of the uses that are known.
func TestCompileTimes(t *testing.T) {
	second := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	idle := int64(90)
	for name, tc := range map[string]struct {
		spec, status, lastUsed *metav1.Time
		until, used            int64
	}{
		"no end":                 {nil, nil, nil, 0, 50},
		"of the specification":   {second(100), nil, nil, 100, 50},
		"of the status":          {nil, second(100), nil, 100, 50},
		"of the status, earlier": {second(200), second(100), nil, 100, 50},
		"of the status, later":   {second(100), second(200), nil, 100, 50},
		"used":                   {nil, nil, second(60), 0, 60},
		"used before it was":     {nil, nil, second(40), 0, 50},
	} {
		d := toBot()
		d.CreationTimestamp = *second(50)
		d.Spec.ExpirationTimestamp, d.Status.ExpirationTimestamp, d.Status.LastUsed, d.Spec.IdleSeconds = tc.spec, tc.status, tc.lastUsed, &idle
		got := compile(d, 1, nil)
		if got.Until.IsZero() != (tc.until == 0) || tc.until != 0 && got.Until.Unix() != tc.until {
			t.Errorf("%s: until %v, want %d", name, got.Until, tc.until)
		}
		used, written := time.Unix(0, got.usage.lastUsed.Load()), time.Unix(0, got.usage.lastWritten.Load())
		if got.idle != 90*time.Second || used.Unix() != tc.used || written != used {
			t.Errorf("%s: idle %v, used %v, written %v, want %d", name, got.idle, used, written, tc.used)
		}
		d.Spec.IdleSeconds = nil
		if got := compile(d, 1, nil); got.idle != 0 || got.usage.lastUsed.Load() != 0 {
			t.Errorf("%s: a delegation that does not end by disuse has a last use", name)
		}
	}
}

// TestCompile holds what a compiled delegation has of the stored one.
func TestCompile(t *testing.T) {
	d := toBot()
	d.Status.Delegator = v1alpha1.DelegatorIdentity{Username: "alice", UID: "a", Groups: []string{"g"}, Extra: map[string][]string{"x": {"y"}}}
	d.Status.Rules = []rbacv1.PolicyRule{{Verbs: []string{"get"}}}
	got := compile(d, 7, nil)
	if got.Name != "d" || got.UID != "u" || got.version != 7 || got.Delegator.GetName() != "alice" || got.Delegator.GetUID() != "a" || len(got.Rules) != 1 ||
		got.Delegator.GetGroups()[0] != "g" || got.Delegator.GetExtra()["x"][0] != "y" {
		t.Errorf("compiled %+v", got)
	}
	if got.Keep || got.deleting || got.Source != nil || got.lent != nil || got.objects != nil || got.conditional() {
		t.Errorf("compiled %+v", got)
	}
	now := metav1.Now()
	d.Spec.IfLost, d.DeletionTimestamp, d.Status.Cause = v1alpha1.LossKeep, &now, &v1alpha1.DelegationCause{Policy: "p"}
	d.Spec.ObjectUIDs = []types.UID{"o"}
	got = compile(d, 7, nil)
	if !got.Keep || !got.deleting || got.Source != d || !got.objects.Has("o") || !got.conditional() {
		t.Errorf("compiled %+v", got)
	}
	d.Spec.IfLost, d.Spec.ObjectUIDs = v1alpha1.LossWithdraw, nil
	d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
	if got := compile(d, 7, nil); got.Keep || !got.conditional() {
		t.Errorf("compiled %+v", got)
	}
}

// TestDelegates holds who may use a delegation: users, members of groups and service accounts, and
// of those only the one with the UID, where there is one.
func TestDelegates(t *testing.T) {
	robot := &user.DefaultInfo{Name: "system:serviceaccount:n:robot", UID: "r", Groups: []string{"system:serviceaccounts"}}
	bob := &user.DefaultInfo{Name: "bob", UID: "b", Groups: []string{"team", "other"}}
	for name, tc := range map[string]struct {
		delegate v1alpha1.Delegate
		caller   user.Info
		want     bool
	}{
		"a user":                          {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bob"}, bob, true},
		"another user":                    {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bill"}, bob, false},
		"a user with its UID":             {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bob", UID: "b"}, bob, true},
		"a user with another UID":         {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bob", UID: "c"}, bob, false},
		"a user without a UID":            {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "bob", UID: "b"}, &user.DefaultInfo{Name: "bob"}, false},
		"nobody":                          {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser}, &user.DefaultInfo{}, false},
		"a member":                        {v1alpha1.Delegate{Kind: v1alpha1.DelegateGroup, Name: "team"}, bob, true},
		"no member":                       {v1alpha1.Delegate{Kind: v1alpha1.DelegateGroup, Name: "bob"}, bob, false},
		"a group with a UID":              {v1alpha1.Delegate{Kind: v1alpha1.DelegateGroup, Name: "team", UID: "b"}, bob, false},
		"a service account":               {v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot"}, robot, true},
		"of another namespace":            {v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "m", Name: "robot"}, robot, false},
		"with its UID":                    {v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot", UID: "r"}, robot, true},
		"that was recreated":              {v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "robot", UID: "q"}, robot, false},
		"an unknown kind":                 {v1alpha1.Delegate{Kind: "Robot", Name: "bob"}, bob, false},
		"a user named like a group of it": {v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: "team"}, bob, false},
	} {
		d := &Delegation{delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "somebody"}, tc.delegate}}
		if got := d.isDelegate(tc.caller); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if (&Delegation{}).isDelegate(bob) {
		t.Error("a delegation to nobody may be used")
	}
}

// TestListsAccount holds that a delegation lists a service account only with its name, its namespace and its UID,
// by either of the two ways to name it.
func TestListsAccount(t *testing.T) {
	account := v1alpha1.Delegate{Kind: v1alpha1.DelegateServiceAccount, Namespace: "n", Name: "bot", UID: "u"}
	asUser := func(name string) func(*v1alpha1.Delegate) {
		return func(d *v1alpha1.Delegate) { *d = v1alpha1.Delegate{Kind: v1alpha1.DelegateUser, Name: name, UID: "u"} }
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Delegate)
		uid    types.UID
		want   bool
	}{
		"the account":                  {func(*v1alpha1.Delegate) {}, "u", true},
		"as a user":                    {asUser("system:serviceaccount:n:bot"), "u", true},
		"another user":                 {asUser("bot"), "u", false},
		"a group of its name":          {func(d *v1alpha1.Delegate) { d.Kind = v1alpha1.DelegateGroup }, "u", false},
		"in another namespace":         {func(d *v1alpha1.Delegate) { d.Namespace = "m" }, "u", false},
		"of another name":              {func(d *v1alpha1.Delegate) { d.Name = "robot" }, "u", false},
		"an earlier account":           {func(*v1alpha1.Delegate) {}, "v", false},
		"without a UID":                {func(d *v1alpha1.Delegate) { d.UID = "" }, "", false},
		"without a UID, and one known": {func(d *v1alpha1.Delegate) { d.UID = "" }, "u", false},
	} {
		delegate := account
		tc.change(&delegate)
		d := toBot()
		d.Spec.Delegates = append(d.Spec.Delegates, delegate)
		if got := compile(d, 1, nil).ListsAccount("n", "bot", tc.uid); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestScopes holds where a delegation applies.
func TestScopes(t *testing.T) {
	rules := []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}},
	}
	pod := func(namespace string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{Verb: "get", Resource: "pods", Namespace: namespace, ResourceRequest: true}
	}
	url := authorizer.AttributesRecord{Verb: "get", Path: "/metrics"}
	inN, cluster := v1alpha1.DelegationScope{Namespace: "n"}, v1alpha1.DelegationScope{Cluster: true}
	write := pod("n")
	write.Verb = "update"
	for name, tc := range map[string]struct {
		scope v1alpha1.DelegationScope
		a     authorizer.AttributesRecord
		want  bool
	}{
		"in its namespace":            {inN, pod("n"), true},
		"in another namespace":        {inN, pod("m"), false},
		"in all namespaces":           {inN, pod(""), false},
		"a URL":                       {inN, url, false},
		"cluster, in a namespace":     {cluster, pod("n"), true},
		"cluster, in all namespaces":  {cluster, pod(""), true},
		"cluster, a URL":              {cluster, url, true},
		"cluster, what no rule has":   {cluster, write, false},
		"no scope":                    {v1alpha1.DelegationScope{}, pod("n"), false},
		"no scope, in all namespaces": {v1alpha1.DelegationScope{}, pod(""), false},
	} {
		d := &Delegation{scope: tc.scope, Rules: rules}
		if got := d.allows(tc.a); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if namespace := tc.a.GetNamespace(); tc.a.ResourceRequest && tc.a.Verb == "get" && d.InScope(namespace) != tc.want {
			t.Errorf("%s: in scope: %v, want %v", name, !tc.want, tc.want)
		}
	}
}

// TestWhatCanBeVerified holds for which verbs a delegation with conditions, with objectUIDs, or with
// both can be used.
func TestWhatCanBeVerified(t *testing.T) {
	conditions := func(d *v1alpha1.AuthorityDelegation) {
		d.Spec.Conditions = []v1alpha1.DelegationCondition{{Expression: "true"}}
	}
	objects := func(d *v1alpha1.AuthorityDelegation) { d.Spec.ObjectUIDs = []types.UID{"o"} }
	verbs := []string{"create", "update", "patch", "delete", "get", "deletecollection", "bind", "granular", "granular:labels", "granularity", "readmetadata"}
	for name, tc := range map[string]struct {
		change []func(*v1alpha1.AuthorityDelegation)
		want   []bool
	}{
		"neither":    {nil, []bool{true, true, true, true, true, true, true, true, true, true, true}},
		"conditions": {[]func(*v1alpha1.AuthorityDelegation){conditions}, []bool{true, true, true, false, false, false, false, true, true, false, false}},
		"objects":    {[]func(*v1alpha1.AuthorityDelegation){objects}, []bool{false, true, true, true, false, false, false, true, true, false, false}},
		"both":       {[]func(*v1alpha1.AuthorityDelegation){conditions, objects}, []bool{false, true, true, false, false, false, false, true, true, false, false}},
	} {
		d := toBot()
		for _, change := range tc.change {
			change(d)
		}
		for i, verb := range verbs {
			if got := compile(d, 1, nil).canVerify(verb); got != tc.want[i] {
				t.Errorf("%s: %s: %v, want %v", name, verb, got, tc.want[i])
			}
		}
	}
}
