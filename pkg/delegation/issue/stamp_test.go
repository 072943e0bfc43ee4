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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // the resource of an object follows from its type

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/delegation/policy"
)

const stampKey = "configmaps" + selection.StampSuffix + "/p"

// configMap returns a config map in the namespace n, with data and with stamps of the policy p.
func configMap(data string, stamps ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c", UID: "c-uid", Annotations: map[string]string{"a": "b"}},
		Data: map[string]string{"key": data}}
	for _, s := range stamps {
		c.Annotations[stampKey] = s
	}
	return c
}

// kept is what a stored object has before a write: any value that the server wrote earlier.
const kept = `{"authorityReference":{"kind":"AuthorityDelegation","name":"by-policy-x","uid":"x"}}`

// issued stands in a table for the stamp of a delegation that the policy issues in that write.
const issued = "issued"

// TestStamps checks which stamp an object has after a write, and that the caller can neither set nor remove one.
//
// Attack: a caller writes an annotation that names a delegation of somebody else, or keeps that of the former author
// Answer: the server replaces it by the delegation of the caller, or by what was stored
func TestStamps(t *testing.T) {
	alice, eve := &user.DefaultInfo{Name: "alice"}, &user.DefaultInfo{Name: "eve"}
	skip := func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.IfNotHeld = v1alpha1.NotHeldSkip }
	selector := func(name string) func(*v1alpha1.AuthorityDelegationPolicy) {
		return func(p *v1alpha1.AuthorityDelegationPolicy) {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}}
		}
	}
	broken := func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.Neutral = []string{"no-permission"} }
	gone := func(p *v1alpha1.AuthorityDelegationPolicy) { p.Name = "another"; selector("m")(p) }
	elsewhere := func(p *v1alpha1.AuthorityDelegationPolicy) { p.Spec.Resource.Resource = "secrets" }
	lacks := refusal{apierrors.IsForbidden, `configmaps "c" is forbidden: AuthorityDelegationPolicy "p" delegates permissions that the author of the object must hold`}
	in := func(namespace string, c *corev1.ConfigMap) *corev1.ConfigMap { c.Namespace = namespace; return c }
	empty := configMap("")
	empty.Data = nil
	for name, tc := range map[string]struct {
		caller   user.Info
		change   func(*v1alpha1.AuthorityDelegationPolicy)
		old, obj *corev1.ConfigMap // old is nil for a create
		refusal
		want  string
		warns string
	}{
		"created":               {alice, nil, nil, configMap("1"), refusal{}, issued, ""},
		"created, with a stamp": {alice, nil, nil, configMap("1", kept), refusal{}, issued, ""},
		"created by an update":  {alice, nil, &corev1.ConfigMap{}, configMap("1", kept), refusal{}, issued, ""},
		"created by an update, with metadata alone": {alice, nil, &corev1.ConfigMap{}, empty, refusal{}, issued, ""},
		"created by one without rights":             {eve, nil, nil, configMap("1"), lacks, "", ""},
		"changed":                                   {alice, nil, configMap("1", kept), configMap("2", kept), refusal{}, issued, ""},
		"changed by one without rights":             {eve, nil, configMap("1", kept), configMap("2", kept), lacks, "", ""},
		"labelled":                                  {eve, nil, configMap("1", kept), configMap("1", kept), refusal{}, kept, ""},
		"labelled, without the stamp":               {eve, nil, configMap("1", kept), configMap("1"), refusal{}, kept, ""},
		"labelled, with another stamp":              {eve, nil, configMap("1", kept), configMap("1", "x"), refusal{}, kept, ""},
		"labelled, with a first stamp":              {eve, nil, configMap("1"), configMap("1", kept), refusal{}, "", ""},
		"renewed":                                   {alice, nil, configMap("1", kept), configMap("1", v1alpha1.StampRenew), refusal{}, issued, ""},
		"renewed by one without rights":             {eve, nil, configMap("1", kept), configMap("1", v1alpha1.StampRenew), lacks, "", ""},
		"skipped":                                   {eve, skip, configMap("1", kept), configMap("2", kept), refusal{}, "", `AuthorityDelegationPolicy "p" issued no delegation: user "eve"`},
		"skipped, for one with rights":              {alice, skip, configMap("1", kept), configMap("2", kept), refusal{}, issued, ""},
		"skipped, renewed":                          {eve, skip, configMap("1", kept), configMap("1", v1alpha1.StampRenew), refusal{}, kept, "issued no delegation"},
		"selected by labels":                        {alice, selector("n"), nil, configMap("1"), refusal{}, issued, ""},
		"not selected":                              {eve, selector("m"), nil, configMap("1", kept), refusal{}, "", ""},
		"not selected any more":                     {eve, selector("m"), configMap("1", kept), configMap("2", kept), refusal{}, "", ""},
		"not selected any more, labelled":           {eve, selector("m"), configMap("1", kept), configMap("1"), refusal{}, kept, ""},
		"not selected, never stamped":               {eve, selector("m"), configMap("1"), configMap("2", kept), refusal{}, "", ""},
		"a namespace without labels":                {alice, selector("n"), nil, in("unknown", configMap("1")), refusal{apierrors.IsNotFound, "unknown"}, "", ""},
		"all of a namespace without labels":         {alice, nil, nil, in("unknown", configMap("1")), refusal{}, issued, ""},
		"a policy that can't be used":               {alice, broken, configMap("1"), configMap("1"), refusal{anyError, "neutral"}, "", ""},
		"a policy that was deleted, labelled":       {eve, gone, configMap("1", kept), configMap("1"), refusal{}, kept, ""},
		"a policy that was deleted, changed":        {alice, gone, configMap("1", kept), configMap("2", kept), refusal{}, "", ""},
		"a policy for another resource, forged":     {eve, elsewhere, nil, configMap("1", kept), refusal{}, "", ""},
		"without a namespace":                       {alice, nil, nil, in("", configMap("1")), refusal{apierrors.IsForbidden, "is a cluster-scoped resource"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newScene(t, granted("reader", readPods, "alice")...), delegationPolicy(readPods)
			p.Status.Rules = readPods
			if tc.change != nil {
				tc.change(p)
			}
			w := s.policies(t, p).forWrite(requesting(s.by(tc.caller), "update", "", "configmaps"), false)
			var old runtime.Object
			if tc.old != nil {
				w.observeOld(tc.old)
				old = tc.old
			}
			obj := tc.obj.DeepCopy()
			err := w.stamp(obj, old)
			tc.check(t, err)
			if (len(s.warnings) > 0) != (tc.warns != "") || !strings.Contains(s.warnings.String(), tc.warns) || strings.Contains(s.warnings.String(), "\n") {
				t.Errorf("warnings %q, wanted %q", s.warnings, tc.warns)
			}
			if got := s.annotation(audit.NotDelegatedAnnotation); (got == "p") != (tc.warns != "") {
				t.Errorf("audited as not delegated: %q", got)
			}
			if err != nil {
				return
			}
			want := tc.want
			if want == issued {
				if len(s.created) != 1 {
					t.Fatalf("%d delegations", len(s.created))
				}
				want = policy.Stamp(s.created[0].Name, s.created[0].UID)
			} else if len(s.created) != 0 {
				t.Errorf("%d delegations", len(s.created))
			}
			if got := s.annotation(audit.DelegationAnnotation); (got != "") != (tc.want == issued) {
				t.Errorf("audited as delegated: %q", got)
			}
			if got := obj.Annotations[stampKey]; got != want || obj.Annotations["a"] != "b" {
				t.Errorf("annotations %v, wanted the stamp %q", obj.Annotations, want)
			}
		})
	}
}

func anyError(err error) bool { return err != nil }

// TestStampedObjects checks for which objects the stored one is looked at: those with stamps, those that have a policy, and
// all while the policies are not read.
func TestStampedObjects(t *testing.T) {
	s := newScene(t)
	ctx := requesting(s.by(&user.DefaultInfo{Name: "alice"}), "update", "", "configmaps")
	s.index.Observe(stored("d", "carol", nil, readPods), false)
	p, none := s.policies(t, delegationPolicy(readPods)), s.policies(t)
	unread := s.policies(t)
	unread.Policies = policy.NewIndex()
	for name, tc := range map[string]struct {
		issuer *PolicyIssuer
		old    runtime.Object
		want   bool
	}{
		"a policy":            {p, configMap("1"), true},
		"no policy":           {none, configMap("1"), false},
		"no policy, stamped":  {none, configMap("1", kept), true},
		"of another resource": {p, &corev1.Secret{}, false},
		"policies not read":   {unread, configMap("1"), true},
	} {
		if got := tc.issuer.forWrite(ctx, false).observeOld(tc.old); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (*policyWrite)(nil).observeOld(configMap("1", kept)) {
		t.Error("a write without policies looks at the stored object")
	}
	if w := p.forWrite(ctx, false); w.stamp(&metav1.Status{}, nil) != nil || len(s.created) != 0 {
		t.Error("an object without metadata has a policy")
	}
}

// TestPoliciesAreAwaited checks that a write waits until the server has read the policies, except for a write of the server
// itself, which may be needed for that.
func TestPoliciesAreAwaited(t *testing.T) {
	for name, tc := range map[string]struct {
		caller      string
		read, ended bool
		refusal
	}{
		"read":                            {"alice", true, false, refusal{}},
		"read, and the request ended":     {"alice", true, true, refusal{}},
		"not read, and the request ended": {"alice", false, true, refusal{apierrors.IsServiceUnavailable, "has not read"}},
		"not read, by the server":         {user.APIServerUser, false, true, refusal{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, granted("reader", readPods, "alice")...)
			p := s.policies(t)
			p.Policies = policy.NewIndex()
			ctx, end := context.WithCancel(requesting(s.by(&user.DefaultInfo{Name: tc.caller}), "update", "", "configmaps"))
			defer end()
			w := p.forWrite(ctx, false)
			if tc.read {
				if err := p.Policies.ReflectorStore().Replace(nil, "1"); err != nil {
					t.Fatal(err)
				}
			}
			if tc.ended {
				end()
			}
			tc.check(t, w.stamp(configMap("1"), nil))
		})
	}
	// The policies are read while the write waits: when it asks whether the request has ended.
	s := newScene(t)
	p := s.policies(t)
	p.Policies = policy.NewIndex()
	read := func() {
		if err := p.Policies.ReflectorStore().Replace(nil, "1"); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &waitedFor{requesting(s.by(&user.DefaultInfo{Name: "alice"}), "update", "", "configmaps"), read}
	refusal{}.check(t, p.forWrite(ctx, false).stamp(configMap("1"), nil))
}

// waitedFor is a context that calls a function when somebody waits for its end.
type waitedFor struct {
	context.Context
	begins func()
}

func (w *waitedFor) Done() <-chan struct{} {
	w.begins()
	return w.Context.Done()
}

// TestStampTooLarge checks that the stamp does not make the annotations larger than an object may have.
func TestStampTooLarge(t *testing.T) {
	s, p := newScene(t, granted("reader", readPods, "alice")...), delegationPolicy(readPods)
	p.Status.Rules = readPods
	obj := configMap("1")
	obj.Annotations["a"] = strings.Repeat("x", 256<<10-10)
	w := s.policies(t, p).forWrite(requesting(s.by(&user.DefaultInfo{Name: "alice"}), "create", "", "configmaps"), false)
	refusal{apierrors.IsRequestEntityTooLargeError, "too large"}.check(t, w.stamp(obj, nil))
}

// TestNoResource checks that a request that is for no resource has no policy.
func TestNoResource(t *testing.T) {
	s := newScene(t)
	p, ctx := s.policies(t, delegationPolicy(readPods)), s.by(&user.DefaultInfo{Name: "alice"})
	if p.forWrite(ctx, false) != nil || p.forWrite(request.WithRequestInfo(ctx, &request.RequestInfo{Verb: "post", Path: "/x"}), false) != nil {
		t.Error("a policy applies to a path")
	}
	if p.forWrite(requesting(ctx, "create", "", "pods"), false) == nil {
		t.Error("no policy applies to a resource")
	}
}

// TestStampOfAuthor checks that an object which a controller writes under the delegation of an author gets that delegation,
// as long as it is the one that the policy would issue now.
func TestStampOfAuthor(t *testing.T) {
	bot := user.DefaultInfo{Name: "bot"}
	for name, tc := range map[string]struct {
		caller     user.Info
		delegation func(*v1alpha1.AuthorityDelegation)
		policy     func(*v1alpha1.AuthorityDelegationPolicy)
		namespace  string
		same       bool
	}{
		"under the delegation":    {same: true},
		"for a process elsewhere": {caller: selects(bot, selection.AuthorityDelegationKind, "by-policy-x")},
		"under no delegation":     {caller: &bot},
		"under a role":            {caller: selecting(bot, selection.ClusterRoleKind, "reader")},
		"that is gone":            {caller: selecting(bot, selection.AuthorityDelegationKind, "gone")},
		"of no policy":            {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause = nil }},
		"of another policy":       {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.UID = "other" }},
		"in another namespace":    {namespace: "m"},
		"kept":                    {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }, same: true},
		"other rules":             {policy: func(p *v1alpha1.AuthorityDelegationPolicy) { p.Status.Rules = rules(on("pods", "get")) }},
		"other delegates": {policy: func(p *v1alpha1.AuthorityDelegationPolicy) {
			p.Spec.Delegates = append(p.Spec.Delegates, toUser("eve"))
		}},
		"that has ended": {delegation: func(d *v1alpha1.AuthorityDelegation) { d.Status.ExpirationTimestamp = after(-time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newScene(t, granted("reader", readPods, "carol")...), delegationPolicy(readPods)
			d := stored("by-policy-x", "carol", []v1alpha1.Delegate{toUser("bot")}, readPods)
			d.Spec.Scope = v1alpha1.DelegationScope{Namespace: "n"}
			d.Status.NamespaceUID, d.Status.Cause = "n-uid", &v1alpha1.DelegationCause{Policy: "p", UID: "p-uid"}
			p.Status.Rules = readPods
			if tc.delegation != nil {
				tc.delegation(d)
			}
			if tc.policy != nil {
				tc.policy(p)
			}
			if tc.caller == nil {
				tc.caller = selecting(bot, selection.AuthorityDelegationKind, "by-policy-x")
			}
			if tc.namespace == "" {
				tc.namespace = "n"
			}
			s.index.Observe(d, false)
			issuer := s.policies(t, p)
			w := issuer.forWrite(requesting(s.by(tc.caller), "create", "", "configmaps"), false)
			leaf := w.ownDelegation(issuer.Policies.For(schema.GroupResource{Resource: "configmaps"})[0], tc.namespace)
			if (leaf != nil) != tc.same || leaf != nil && leaf.UID != d.UID {
				t.Errorf("delegation %v", leaf)
			}
			obj := configMap("1")
			obj.Namespace = tc.namespace
			err := w.stamp(obj, nil)
			if got := err == nil && obj.Annotations[stampKey] == policy.Stamp("by-policy-x", d.UID); got != tc.same {
				t.Errorf("stamp %q, %v", obj.Annotations[stampKey], err)
			}
		})
	}
}

// TestPolicyFails checks that a failure to issue a delegation refuses the write as it is, whatever the policy says about
// an author without the rights.
func TestPolicyFails(t *testing.T) {
	s, p := newScene(t, granted("reader", readPods, "alice")...), delegationPolicy(readPods)
	p.Status.Rules, p.Spec.IfNotHeld = readPods, v1alpha1.NotHeldSkip
	issuer := s.policies(t, p)
	issuer.Create = func(context.Context, *v1alpha1.AuthorityDelegation) (*v1alpha1.AuthorityDelegation, error) {
		return nil, apierrors.NewInternalError(errors.New("storage is broken"))
	}
	w := issuer.forWrite(requesting(s.by(&user.DefaultInfo{Name: "alice"}), "create", "", "configmaps"), false)
	refusal{apierrors.IsInternalError, "storage is broken"}.check(t, w.stamp(configMap("1"), nil))
}
