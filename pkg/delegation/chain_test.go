// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/authority/v1alpha1"
)

var (
	noon   = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	helper = &user.DefaultInfo{Name: "helper"}
)

// family returns an index at noon with two delegations, after the changes: alice delegated "parent"
// to bot, and bot delegated "child" to helper.
func family(change func(parent, child *v1alpha1.AuthorityDelegation)) *Index {
	x := NewIndex()
	x.now = func() time.Time { return noon }
	parent := toBot()
	parent.Name, parent.UID, parent.Status.Delegator.Username = "parent", "p", "alice"
	child := toBot()
	child.Name, child.UID, child.ResourceVersion = "child", "c", "2"
	child.Spec.Delegates[0].Name = "helper"
	child.Status.Delegator.Username = "bot"
	child.Status.History = []v1alpha1.ChainEntry{
		{Via: v1alpha1.ViaImpersonation, By: "root"},
		{Via: v1alpha1.ViaDelegation, By: "alice", Name: "parent", UID: "p"},
	}
	if change != nil {
		change(parent, child)
	}
	x.Observe(parent, false)
	x.Observe(child, false)
	return x
}

func (x *Index) mustChain(t *testing.T) *Chain {
	t.Helper()
	c := x.chain("child", "c")
	if c == nil || len(c.Links) != 2 || c.Root().Name != "parent" || c.Leaf().Name != "child" {
		t.Fatalf("chain %+v", c)
	}
	return c
}

// TestValidity holds when a chain may be used, with the reason of each refusal: each delegation
// must be valid, each delegator a delegate of the one before, and the caller of the last.
func TestValidity(t *testing.T) {
	past, now, future := metav1.NewTime(noon.Add(-time.Second)), metav1.NewTime(noon), metav1.NewTime(noon.Add(time.Second))
	idle := int64(60)
	type objects = func(parent, child *v1alpha1.AuthorityDelegation)
	for name, tc := range map[string]struct {
		change objects
		want   Reason
	}{
		"valid":                        {nil, ""},
		"expired":                      {func(_, child *v1alpha1.AuthorityDelegation) { child.Spec.ExpirationTimestamp = &past }, Expired},
		"expires at this moment":       {func(_, child *v1alpha1.AuthorityDelegation) { child.Spec.ExpirationTimestamp = &now }, Expired},
		"expires later":                {func(_, child *v1alpha1.AuthorityDelegation) { child.Spec.ExpirationTimestamp = &future }, ""},
		"an expired ancestor":          {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.Spec.ExpirationTimestamp = &past }, Expired},
		"being deleted":                {func(_, child *v1alpha1.AuthorityDelegation) { child.DeletionTimestamp = &now }, NotFound},
		"an ancestor is being deleted": {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.DeletionTimestamp = &now }, AncestorGone},
		"not used for too long": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.IdleSeconds, child.CreationTimestamp = &idle, metav1.NewTime(noon.Add(-time.Minute))
		}, Idle},
		"not used for nearly too long": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.IdleSeconds, child.CreationTimestamp = &idle, metav1.NewTime(noon.Add(-time.Minute+time.Second))
		}, ""},
		"in its namespace": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.Scope, child.Status.NamespaceUID = v1alpha1.DelegationScope{Namespace: "n"}, "uid-of-n"
		}, ""},
		"in a namespace that is another one now": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.Scope, child.Status.NamespaceUID = v1alpha1.DelegationScope{Namespace: "n"}, "earlier"
		}, NamespaceGone},
		"in a namespace that was not known": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.Scope = v1alpha1.DelegationScope{Namespace: "n"}
		}, NamespaceGone},
		"in a namespace that is gone": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.Scope = v1alpha1.DelegationScope{Namespace: "gone"}
		}, NamespaceGone},
		"a delegator who is no delegate": {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.Spec.Delegates[0].Name = "somebody" }, NotDelegate},
		"a caller who is no delegate":    {func(_, child *v1alpha1.AuthorityDelegation) { child.Spec.Delegates[0].Name = "somebody" }, NotDelegate},
		"kept":                           {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.Spec.IfLost = v1alpha1.LossKeep }, ""},
		"the first delegator's own": {func(parent, child *v1alpha1.AuthorityDelegation) {
			parent.Status.Delegator.Username = "helper"
		}, ""},
		"the first delegator's own, kept": {func(parent, child *v1alpha1.AuthorityDelegation) {
			parent.Status.Delegator.Username, parent.Spec.IfLost = "helper", v1alpha1.LossKeep
		}, NotDelegate},
	} {
		x := family(tc.change)
		x.Connect(Sources{Namespace: func(name string) types.UID { return map[string]types.UID{"n": "uid-of-n"}[name] }})
		c := x.mustChain(t)
		got := Reason("")
		if r := c.checkValid(helper); r != nil {
			got = r.Reason
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		again := Reason("")
		if r := c.Recheck(helper); r != nil {
			again = r.Reason
		}
		if again != tc.want {
			t.Errorf("%s, looked at again: %q, want %q", name, again, tc.want)
		}
		if leaf := x.checkValid(c.Leaf(), noon, ""); x.Valid(c.Leaf()) != (leaf == nil) {
			t.Errorf("%s: valid is %v", name, leaf != nil)
		}
	}
	x := family(nil)
	c := x.mustChain(t)
	parent := toBot()
	parent.UID = "p"
	x.Observe(parent, true)
	if r := c.Recheck(helper); r == nil || r.Reason != NotFound {
		t.Errorf("an ancestor that was removed: %v", r)
	}
}

// TestCovers holds which requests a chain covers: each delegation must allow it, an ancestor also by
// verbs that include the verb of a single field. Under a delegation with conditions, only a request
// that stores the object that the conditions see is covered.
func TestCovers(t *testing.T) {
	all := []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}, {Verbs: []string{"*"}, NonResourceURLs: []string{"*"}}}
	ordinary := []rbacv1.PolicyRule{{Verbs: []string{"update", "patch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	fields := []rbacv1.PolicyRule{{Verbs: []string{"granular", "granular:replicas"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
	request := func(verb, group, resource, sub string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{Verb: verb, APIGroup: group, Resource: resource, Subresource: sub, Namespace: "n", Name: "x", ResourceRequest: true}
	}
	url := authorizer.AttributesRecord{Verb: "create", Path: "/x"}
	for name, tc := range map[string]struct {
		parent, child       []rbacv1.PolicyRule
		onParent, onChild   bool
		a                   authorizer.AttributesRecord
		notOwn, wantRefusal bool
	}{
		"all":                   {all, all, false, false, request("get", "", "pods", ""), false, false},
		"all, another question": {all, all, false, false, request("get", "", "pods", ""), true, false},
		"not by the parent":     {ordinary, all, false, false, request("get", "", "pods", ""), false, true},
		"not by the child":      {all, ordinary, false, false, request("get", "", "pods", ""), false, true},
		"a field":               {fields, fields, false, false, request("granular:replicas", "apps", "deployments", ""), false, false},
		"a field that the parent's verbs include": {ordinary, fields, false, false, request("granular:replicas", "apps", "deployments", ""), false, false},
		"a field of a subresource":                {ordinary, fields, false, false, request("granular:replicas", "apps", "deployments", "scale"), false, false},
		"a field of a custom resource":            {ordinary, fields, false, false, request("granular:replicas", "example.com", "robots", ""), false, true},
		"a field that the child's verbs include":  {ordinary, ordinary, false, false, request("granular:replicas", "apps", "deployments", ""), false, true},
		"a field of a parent without patch":       {[]rbacv1.PolicyRule{{Verbs: []string{"update"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}, fields, false, false, request("granular:replicas", "apps", "deployments", ""), false, true},

		"conditions":                     {all, all, false, true, request("update", "", "pods", ""), false, false},
		"conditions of the parent":       {all, all, true, false, request("update", "", "pods", ""), false, false},
		"conditions, a read":             {all, all, false, true, request("get", "", "pods", ""), false, true},
		"parent's conditions, a read":    {all, all, true, false, request("get", "", "pods", ""), false, true},
		"conditions, another question":   {all, all, false, true, request("update", "", "pods", ""), true, true},
		"conditions, a URL":              {all, all, false, true, url, false, true},
		"no conditions, a URL":           {all, all, false, false, url, false, false},
		"conditions, a field":            {all, all, false, true, request("granular:labels", "", "pods", ""), false, false},
		"conditions, a status":           {all, all, false, true, request("update", "", "pods", "status"), false, false},
		"conditions, a scale":            {all, all, false, true, request("patch", "apps", "deployments", "scale"), false, false},
		"conditions, a resize":           {all, all, false, true, request("patch", "", "pods", "resize"), false, false},
		"conditions, ephemeral":          {all, all, false, true, request("patch", "", "pods", "ephemeralcontainers"), false, false},
		"conditions, an approval":        {all, all, false, true, request("update", "certificates.k8s.io", "certificatesigningrequests", "approval"), false, false},
		"conditions, finalize":           {all, all, false, true, request("update", "", "namespaces", "finalize"), false, false},
		"conditions, a binding of a pod": {all, all, false, true, request("create", "", "pods", "binding"), false, true},
		"conditions, an eviction":        {all, all, false, true, request("create", "", "pods", "eviction"), false, true},
		"conditions, a connection":       {all, all, false, true, request("create", "", "pods", "exec"), false, true},
		"conditions, a token":            {all, all, false, true, request("create", "", "serviceaccounts", "token"), false, true},
		"conditions, a binding":          {all, all, false, true, request("create", "", "bindings", ""), false, true},
		"conditions, a custom binding":   {all, all, false, true, request("create", "example.com", "bindings", ""), false, false},
		"conditions, a token review":     {all, all, false, true, request("create", "authentication.k8s.io", "tokenreviews", ""), false, true},
		"conditions, an access review":   {all, all, false, true, request("create", "authorization.k8s.io", "subjectaccessreviews", ""), false, true},
		"no conditions, a token review":  {all, all, false, false, request("create", "authentication.k8s.io", "tokenreviews", ""), false, false},
	} {
		c := family(func(parent, child *v1alpha1.AuthorityDelegation) {
			parent.Status.Rules, child.Status.Rules = tc.parent, tc.child
			conditions := []v1alpha1.DelegationCondition{{Expression: "true"}}
			if tc.onParent {
				parent.Spec.Conditions = conditions
			}
			if tc.onChild {
				child.Spec.Conditions = conditions
			}
		}).mustChain(t)
		if c.Conditional() != (tc.onParent || tc.onChild) {
			t.Errorf("%s: conditional: %v", name, c.Conditional())
		}
		r := c.CheckCovers(tc.a, !tc.notOwn)
		if (r != nil) != tc.wantRefusal || r != nil && r.Reason != NotCovered {
			t.Errorf("%s: %v, want a refusal: %v", name, r, tc.wantRefusal)
		}
	}
}

// TestReadable holds that all delegations of a chain must allow get, for a condition to tell
// something of an object.
func TestReadable(t *testing.T) {
	reads := []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	writes := []rbacv1.PolicyRule{{Verbs: []string{"update"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
	a := authorizer.AttributesRecord{Verb: "update", Resource: "pods", Namespace: "n", ResourceRequest: true}
	for name, tc := range map[string]struct {
		parent, child []rbacv1.PolicyRule
		want          string
	}{
		"both":       {reads, reads, ""},
		"the parent": {reads, writes, `AuthorityDelegation "child"`},
		"the child":  {writes, reads, `an ancestor of AuthorityDelegation "child"`},
	} {
		c := family(func(parent, child *v1alpha1.AuthorityDelegation) {
			parent.Status.Rules, child.Status.Rules = tc.parent, tc.child
		}).mustChain(t)
		r := c.CheckReadable(a)
		if (r != nil) != (tc.want != "") || r != nil && (r.Reason != NotCovered || !strings.HasPrefix(r.Error(), tc.want+" ") || !strings.Contains(r.Error(), "does not allow get on the object")) {
			t.Errorf("%s may read: %v", name, r)
		}
	}
	if reading := ReadRequest(a); reading.GetVerb() != "get" || !reading.IsReadOnly() || reading.GetResource() != "pods" {
		t.Errorf("read by %+v", reading)
	}
	if (withVerb{a, "update"}).IsReadOnly() {
		t.Error("an update is a read")
	}
}

// TestIncludes holds which requests include one of a single field: with each set of verbs it is included, and
// without any one of them it is not.
func TestIncludes(t *testing.T) {
	for _, tc := range []struct{ verb, group, resource, sub, held string }{
		{"granular:replicas", "apps", "deployments", "", "update patch"},
		{"granular:replicas", "apps", "deployments", "scale", "update patch"},
		{"granular:replicas", "apps", "deployments", "status", "update patch"},
		{"granular", "apps", "deployments", "", "update patch"},
		{"granular:metadata", "", "pods", "", "update patch create"},
		{"granular:replicas", "apps", "deployments", "", "granular:specification"},
		{"granular:label(example.com/team)", "", "pods", "", "granular:label(example.com)"},
		{"granular:label(/team)", "", "pods", "", "granular:label(team)"},
		{"granular:podTemplateContainerImage(app)", "apps", "deployments", "", "granular:podTemplateContainer(app)"},
		{"readmetadata", "", "secrets", "", "get list watch"},
		{"readmetadata", "example.com", "robots", "", "get list watch"},
	} {
		a := authorizer.AttributesRecord{Verb: tc.verb, APIGroup: tc.group, Resource: tc.resource, Subresource: tc.sub, Name: "x", ResourceRequest: true}
		included := func(held []string) bool {
			return Includes(a, func(instead authorizer.Attributes) bool {
				if instead.GetName() != "x" || instead.GetSubresource() != tc.sub {
					t.Errorf("%+v: %+v", tc, instead)
				}
				return slices.Contains(held, instead.GetVerb())
			})
		}
		held := strings.Fields(tc.held)
		if !included(held) {
			t.Errorf("%+v: not included", tc)
		}
		for i := range held {
			if included(slices.Delete(slices.Clone(held), i, i+1)) {
				t.Errorf("%+v: included without %s", tc, held[i])
			}
		}
		if a.ResourceRequest = false; included(held) {
			t.Errorf("%+v, as a URL, is included", tc)
		}
	}
	for _, tc := range []struct{ verb, group, resource, held string }{
		{"update", "apps", "deployments", "update patch"},
		{"granularity", "apps", "deployments", "update patch"},
		{"granular:replicas", "example.com", "robots", "update patch granular:specification"},
		{"granular:label(example.com)", "", "pods", "granular:label(example.com/team)"},
		{"granular:label(example.com/team)", "", "pods", "granular:label(/example.com) granular:label(example.org)"},
		{"granular:podTemplateContainer(app)", "apps", "deployments", "granular:podTemplateContainerImage(app)"},
		{"granular:podTemplateContainerImage(app)", "apps", "deployments", "granular:podTemplateContainer(mesh)"},
	} {
		a := authorizer.AttributesRecord{Verb: tc.verb, APIGroup: tc.group, Resource: tc.resource, ResourceRequest: true}
		held := strings.Fields(tc.held)
		if Includes(a, func(instead authorizer.Attributes) bool { return slices.Contains(held, instead.GetVerb()) }) {
			t.Errorf("%+v is included", tc)
		}
	}
}

// TestIncludesOfSubresources holds that a request for a subresource is included by what is known of that
// subresource, and not by what is known of the resource.
func TestIncludesOfSubresources(t *testing.T) {
	for sub, want := range map[string]bool{"": true, "scale": true, "nothing": false} {
		a := authorizer.AttributesRecord{Verb: "granular:replicas", APIGroup: "apps", Resource: "deployments", Subresource: sub, ResourceRequest: true}
		if got := Includes(a, func(authorizer.Attributes) bool { return true }); got != want {
			t.Errorf("subresource %q: included: %t", sub, got)
		}
	}
}

// TestWhoIsNoDelegate holds that a refusal says whether the caller is no delegate, or somebody further up in the chain.
func TestWhoIsNoDelegate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(parent, child *v1alpha1.AuthorityDelegation)
		caller string
		says   string
	}{
		"the caller": {nil, "mallory", `the caller is not a delegate of AuthorityDelegation "child"`},
		"a creator": {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.Spec.Delegates[0].Name = "nobody" }, "helper",
			`one of the users who created AuthorityDelegation "child" and its ancestors is not a delegate of the parent`},
	} {
		refusal := family(tc.change).mustChain(t).checkValid(&user.DefaultInfo{Name: tc.caller})
		if refusal == nil || refusal.Reason != NotDelegate || refusal.Message != tc.says {
			t.Errorf("%s: %v", name, refusal)
		}
	}
}

// TestChainTimes holds when a chain ends, and which delegations of it a use keeps alive.
func TestChainTimes(t *testing.T) {
	early, late, idle := metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon.Add(2*time.Hour)), int64(600)
	for name, tc := range map[string]struct{ parent, child, want *metav1.Time }{
		"never": {nil, nil, nil}, "the parent": {&early, nil, &early}, "the child": {nil, &late, &late},
		"the parent first": {&early, &late, &early}, "the child first": {&late, &early, &early},
	} {
		c := family(func(parent, child *v1alpha1.AuthorityDelegation) {
			parent.Spec.ExpirationTimestamp, child.Spec.ExpirationTimestamp = tc.parent, tc.child
			child.Spec.IdleSeconds = &idle
		}).mustChain(t)
		if got := c.ExpiresAt(); !got.Equal(tc.want) {
			t.Errorf("%s ends: %v, want %v", name, got, tc.want)
		}
		c.RecordUse()
		if parent, child := c.Root().usage.lastUsed.Load(), c.Leaf().usage.lastUsed.Load(); parent != 0 || child != noon.UnixNano() {
			t.Errorf("last used %d and %d", parent, child)
		}
		c.Leaf().usage.record(noon.Add(-time.Hour))
		if got := c.Leaf().usage.lastUsed.Load(); got != noon.UnixNano() {
			t.Errorf("an earlier use, recorded late, is the last one: %d", got)
		}
	}
}

// TestCounts holds that each delegation counts once: as ended if it or an ancestor can't be used, and as ending if it or an
// ancestor ends soon.
func TestCounts(t *testing.T) {
	soon, late, past := metav1.NewTime(noon.Add(59*time.Minute)), metav1.NewTime(noon.Add(time.Hour)), metav1.NewTime(noon)
	idle := int64(600)
	parent := func(end *metav1.Time) func(_, _ *v1alpha1.AuthorityDelegation) {
		return func(parent, _ *v1alpha1.AuthorityDelegation) { parent.Spec.ExpirationTimestamp = end }
	}
	child := func(end *metav1.Time) func(_, _ *v1alpha1.AuthorityDelegation) {
		return func(_, child *v1alpha1.AuthorityDelegation) { child.Spec.ExpirationTimestamp = end }
	}
	for name, tc := range map[string]struct {
		change func(parent, child *v1alpha1.AuthorityDelegation)
		want   Counts
	}{
		"neither ends":         {nil, Counts{Valid: 2}},
		"the child, soon":      {child(&soon), Counts{Valid: 1, Ending: 1}},
		"the child, later":     {child(&late), Counts{Valid: 2}},
		"the parent, soon":     {parent(&soon), Counts{Ending: 2}},
		"the child has ended":  {child(&past), Counts{Valid: 1, Ended: 1}},
		"the parent has ended": {parent(&past), Counts{Ended: 2}},
		"the child is idle": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.IdleSeconds, child.CreationTimestamp = &idle, metav1.NewTime(noon.Add(-time.Hour))
		}, Counts{Valid: 1, Ended: 1}},
		"the parent is deleted": {func(parent, _ *v1alpha1.AuthorityDelegation) { parent.UID = "other" }, Counts{Valid: 1, Ended: 1}},
		"its namespace is gone": {func(_, child *v1alpha1.AuthorityDelegation) {
			child.Spec.Scope = v1alpha1.DelegationScope{Namespace: "gone"}
		}, Counts{Valid: 1, Ended: 1}},
	} {
		x := family(tc.change)
		if got := x.Counts(time.Hour); got != tc.want {
			t.Errorf("%s: %+v, wanted %+v", name, got, tc.want)
		}
		if !x.mu.TryLock() {
			t.Fatalf("%s: who counts holds the lock for ever", name)
		}
		x.mu.Unlock()
	}
	if got := NewIndex().Counts(time.Hour); got != (Counts{}) {
		t.Errorf("none: %+v", got)
	}
}

// TestEntries holds what an audit event and the status of another delegation say of a chain.
func TestEntries(t *testing.T) {
	until := metav1.NewTime(noon.Add(time.Hour))
	c := family(func(_, child *v1alpha1.AuthorityDelegation) {
		child.Status.Delegator.UID, child.Spec.ExpirationTimestamp = "b", &until
	}).mustChain(t)
	entries := c.Entries()
	if len(entries) != 3 || entries[0].By != "root" || entries[1].UID != "p" {
		t.Fatalf("%+v", entries)
	}
	if last := entries[2]; last.Via != v1alpha1.ViaDelegation || last.By != "bot" || last.ByUID != "b" || last.Name != "child" || last.UID != "c" || !last.Until.Equal(&until) {
		t.Errorf("%+v", last)
	}
	if last := family(nil).mustChain(t).Entries()[2]; last.Until != nil {
		t.Errorf("a delegation that does not end, ends at %v", last.Until)
	}
	if entries[0].By = "changed"; c.Leaf().History[0].By != "root" {
		t.Error("the entries share memory with the delegation")
	}
	for _, tc := range []struct{ name, want string }{
		{strings.Repeat("a", 256), strings.Repeat("a", 256)},
		{strings.Repeat("a", 257), strings.Repeat("a", 253) + "..."},
		{strings.Repeat("a", 252) + "ä" + "aaaa", strings.Repeat("a", 252) + "..."},
		{"", ""},
	} {
		if got := Truncate(tc.name); got != tc.want {
			t.Errorf("%d bytes are shortened to %q", len(tc.name), got)
		}
	}
}
