// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
)

func podAt(metadata string) string { return at("/v1/Pod", `"metadata": PLACE`, metadata) }

// podWrite passes an update of a pod through the Gate. It returns the error that the caller sees,
// or nil.
func podWrite(t *testing.T, g *questioned, p *inForce, old, sent, final string, groups ...string) error {
	t.Helper()
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx := contextOf("update", target, "n", "x", groups...)
	w := New(g, WithProtection(p)).Begin(ctx, target)
	if w == nil {
		return nil
	}
	was := stored(t, podAt(old))
	if err := w.Observe(ctx, sentObject(t, podAt(sent)), was); err != nil {
		t.Fatal(err)
	}
	err := w.Verify(ctx, sentObject(t, podAt(final)), was)
	if err != nil {
		return w.RespondError(ctx, err)
	}
	w.Respond(ctx, was)
	return nil
}

// TestWhoseChange checks which changes of labels count as the caller's if admission changes
// labels too.
//
// Attack: a value that a mutating webhook turns into the protected one, or the reverse
// Answer: 403, the caller answers for both
func TestWhoseChange(t *testing.T) {
	const elsewhere = `{"labels": {"a": "c"}}`
	const devElsewhere = `{"labels": {"a": "c", "env": "dev"}}`
	for name, tc := range map[string]struct {
		old, callerChange, final string
		refused                  bool
	}{
		"the caller's":                               {bare, envProd, envProd, true},
		"added by admission":                         {bare, elsewhere, envProd2, false},
		"taken away by admission":                    {envProd, elsewhere, elsewhere, true},
		"taken away by admission alone":              {envProd, envProd2, bare, false},
		"the caller's, put back":                     {bare, envProd, bare, false},
		"the caller's, changed by admission to it":   {bare, envDev, envProd, true},
		"the caller's, changed by admission from it": {bare, envProd, envDev, true},
		"nothing protected":                          {envProd, envProd2, envProd2, false},
		"another value":                              {bare, envDev, devElsewhere, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := podWrite(t, &questioned{grants: grants{allow: []string{"get"}}}, &inForce{set: protect.New(env)}, tc.old, tc.callerChange, tc.final)
			says := ""
			if tc.refused {
				says = "needs ClusterRole"
			}
			judged(t, err, nil, says)
		})
	}
}

// TestScopes checks which protected attributes apply to an object: those of the cluster and those
// of the object's namespace. Only those of the cluster apply to an object without a namespace.
func TestScopes(t *testing.T) {
	in := func(namespace string) protect.Entry {
		e := env
		e.Namespace, e.Name = namespace, "of-"+namespace
		return e
	}
	for name, tc := range map[string]struct {
		kind, resource, namespace string
		entries                   []protect.Entry
		refused                   string
	}{
		"the cluster's, in a namespace": {"/v1/Pod", "pods", "n", []protect.Entry{env}, "in the cluster"},
		"the namespace's":               {"/v1/Pod", "pods", "n", []protect.Entry{in("n")}, `in namespace "n"`},
		"another namespace's":           {"/v1/Pod", "pods", "n", []protect.Entry{in("m")}, ""},
		"the cluster's, of a node":      {"/v1/Node", "nodes", "", []protect.Entry{env}, "in the cluster"},
		"a namespace's, of a node":      {"/v1/Node", "nodes", "", []protect.Entry{in("n")}, ""},
		"the cluster's, of a namespace": {"/v1/Namespace", "namespaces", "n", []protect.Entry{env}, "in the cluster"},
		"its own, of a namespace":       {"/v1/Namespace", "namespaces", "n", []protect.Entry{in("n")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := endpoint(t, kindNamed(tc.kind), tc.resource)
			ctx := contextOf("update", target, tc.namespace, "n")
			w := New(&questioned{}, WithProtection(&inForce{set: protect.New(tc.entries...)})).Begin(ctx, target)
			if (w == nil) != (tc.refused == "") {
				t.Fatalf("begun: %t", w != nil)
			}
			if w != nil {
				judged(t, goThrough(t, w, ctx, sentObject(t, at(tc.kind, `"metadata": PLACE`, envProd)), stored(t, at(tc.kind, `"metadata": PLACE`, bare))), nil, tc.refused)
			}
		})
	}
}

// TestSelfGrant checks that a protected attribute of a namespace does not admit anybody to a
// label that a protected attribute of the cluster protects.
func TestSelfGrant(t *testing.T) {
	own := protect.Entry{Name: "own", Namespace: "n", Kind: schema.Label, Key: "env",
		Role: protect.RoleRef{Kind: protect.Role, Name: "mine"}}
	for holds, says := range map[string]string{"Role/mine": `needs ClusterRole "releaser"`, "ClusterRole/releaser": `needs Role "mine"`, "both": ""} {
		p := &inForce{set: protect.New(env, own), holds: []string{holds}}
		if holds == "both" {
			p.holds = []string{"Role/mine", "ClusterRole/releaser"}
		}
		judged(t, podWrite(t, &questioned{}, p, bare, envProd, envProd), nil, says)
	}
}

// TestExempt checks which callers are exempt: members of the privileged group, and callers that
// may bypass protected attributes. The check of the bypass is about all namespaces, comes last,
// and is made only for a write that would be refused otherwise.
func TestExempt(t *testing.T) {
	p := &inForce{set: protect.New(env)}
	g := &questioned{}
	judged(t, podWrite(t, g, p, bare, envProd, envProd, user.SystemPrivilegedGroup), nil, "")
	if len(g.all) > 0 || len(p.asked) > 0 {
		t.Errorf("asked %v, %v", g.all, p.asked)
	}
	g = &questioned{grants: grants{allow: []string{BypassVerb}}}
	judged(t, podWrite(t, g, p, bare, envProd, envProd), nil, "")
	if len(g.all) != 1 || len(p.asked) != 1 {
		t.Fatalf("asked %v, %v", g.all, p.asked)
	}
	a := g.all[0]
	if a.GetVerb() != "bypass" || a.GetAPIGroup() != "authority.kube-granular.dev" || a.GetResource() != "protectedattributes" || a.GetNamespace() != "" || a.GetName() != "" || a.GetSubresource() != "" || !a.IsResourceRequest() || a.GetUser().GetName() != "jane" {
		t.Errorf("asked %#v", a)
	}
	g = &questioned{grants: grants{allow: []string{BypassVerb}}}
	judged(t, podWrite(t, g, p, bare, envDev, envDev), nil, "")
	judged(t, podWrite(t, g, &inForce{set: p.set, holds: []string{"ClusterRole/releaser"}}, bare, envProd, envProd), nil, "")
	if len(g.all) > 0 {
		t.Errorf("asked %v where nothing would be refused", g.all)
	}
	for verb, grants := range map[string]grants{"update": {allow: []string{"update", "*", "granular", "granular:labels", "granular:metadata"}}, "denied": {deny: []string{BypassVerb}}} {
		judged(t, podWrite(t, &questioned{grants: grants}, p, bare, envProd, envProd), nil, "needs ClusterRole")
		_ = verb
	}
}

// TestNoAnswer checks that a write gets a 500 if the server can't find out what its caller holds
// and the result depends on it.
//
// Attack: a write while nobody can say who holds the role
// Answer: 500, it is not stored
func TestNoAnswer(t *testing.T) {
	set := protect.New(env)
	for name, tc := range map[string]struct {
		p  inForce
		g  grants
		ok bool
	}{
		"the roles":                 {inForce{set: set, fail: true}, grants{}, false},
		"the roles, and may bypass": {inForce{set: set, fail: true}, grants{allow: []string{BypassVerb}}, true},
		"bypassing":                 {inForce{set: set}, grants{fail: []string{BypassVerb}}, false},
		"bypassing, and holds it": {inForce{set: set, holds: []string{"ClusterRole/releaser"}},
			grants{fail: []string{BypassVerb}}, true},
		"the verb": {inForce{set: protect.New(protect.Entry{Name: "v", Kind: schema.Label, Key: "env"})},
			grants{fail: []string{"granular:protectedLabel(env)"}}, false},
		"bypassing, in audit": {inForce{set: protect.New(inAudit(env))}, grants{fail: []string{BypassVerb}},
			true},
		"the roles, in audit": {inForce{set: protect.New(inAudit(env)), fail: true}, grants{}, true},
	} {
		err := podWrite(t, &questioned{grants: tc.g}, &tc.p, bare, envProd, envProd)
		if tc.ok != (err == nil) || err != nil && !apierrors.IsInternalError(err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "out of order") {
			t.Errorf("%s: the answer quotes the authorizer: %v", name, err)
		}
	}
}

func inAudit(e protect.Entry) protect.Entry {
	e.Mode = protect.Audit
	return e
}

// TestNotKnownYet checks that a write that changes a label or annotation waits until the
// protected attributes are known. If they do not become known in time, it gets a 503. A write
// that changes no label or annotation does not wait.
//
// Attack: writing a label before the server knows which labels are protected
// Answer: waits for a bounded time, then 503; all other requests continue
func TestNotKnownYet(t *testing.T) {
	g := &questioned{}
	for name, tc := range map[string]struct {
		old, new         string
		arrives          bool
		set              *protect.Set
		holds            []string
		waited           int
		unavailable, bad bool
	}{
		"nothing changes":        {old: envProd, new: envProd},
		"a label changes":        {old: bare, new: envDev, waited: 1, unavailable: true},
		"an annotation changes":  {old: netA, new: netB, waited: 1, unavailable: true},
		"it is known then, none": {old: bare, new: envProd, arrives: true, waited: 1},
		"it is known then, refused": {old: bare, new: envProd, arrives: true, set: protect.New(env), waited: 1,
			bad: true},
		"it is known then, held": {old: bare, new: envProd, arrives: true, set: protect.New(env),
			holds: []string{"ClusterRole/releaser"}, waited: 1},
		"it is known then, free":    {old: bare, new: envDev, arrives: true, set: protect.New(env), waited: 1},
		"other kinds of attributes": {old: bare, new: envProd, arrives: true, set: protect.New(net), waited: 1},
	} {
		p := &inForce{pending: true, arrives: tc.arrives, set: tc.set, holds: tc.holds}
		err := podWrite(t, g, p, tc.old, tc.new, tc.new)
		if apierrors.IsServiceUnavailable(err) != tc.unavailable || apierrors.IsForbidden(err) != tc.bad || (err != nil) != (tc.unavailable || tc.bad) || p.waited != tc.waited {
			t.Errorf("%s: waited %d times, %v", name, p.waited, err)
		}
		if delay, ok := apierrors.SuggestsClientDelay(err); tc.unavailable && (!ok || delay == 0) {
			t.Errorf("%s: the caller is not told to try again", name)
		}
	}
	p := &inForce{pending: true}
	if err := podWrite(t, g, p, bare, envProd, envProd, user.SystemPrivilegedGroup); err != nil || p.waited > 0 {
		t.Errorf("the privileged group waits %d times: %v", p.waited, err)
	}
}

// TestRetries checks that all attempts of a request use the same protected attributes, that no
// check is repeated, and that the last attempt decides.
//
// Attack: changing an attribute while a write of its key is retried
// Answer: each attempt uses the attributes of one moment; the last attempt counts
func TestRetries(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx := contextOf("update", target, "n", "x")
	p := &inForce{set: protect.New(env), holds: []string{"ClusterRole/releaser"}}
	w := New(&questioned{}, WithProtection(p)).Begin(ctx, target)
	p.set = nil
	for range 3 {
		judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), nil, "")
	}
	if len(p.asked) != 1 {
		t.Errorf("asked %q", p.asked)
	}
	p = &inForce{set: protect.New(env)}
	w = New(&questioned{}, WithProtection(p)).Begin(ctx, target)
	p.set = nil
	judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(envProd))), nil, "")
	judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), nil, "needs ClusterRole")
	judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(envProd))), nil, "")
}

// TestGranularNeedsBoth checks that a granular caller that changes a protected label needs a
// permission for the label, and must be admitted to it.
func TestGranularNeedsBoth(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, tc := range map[string]struct {
		allow, holds []string
		says         string
	}{
		"both":           {[]string{"granular:labels", "get"}, []string{"ClusterRole/releaser"}, ""},
		"the permission": {[]string{"granular:labels", "get"}, nil, `needs ClusterRole "releaser"`},
		"the role":       {[]string{"get"}, []string{"ClusterRole/releaser"}, "needs one of the verbs"},
		"neither":        {[]string{"get"}, nil, "needs one of the verbs"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, marker := granular.WithMarker(contextOf("update", target, "n", "x"))
			g := &questioned{grants: grants{allow: tc.allow}}
			w := New(g, WithProtection(&inForce{set: protect.New(env), holds: tc.holds})).Begin(ctx, target)
			judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), marker, tc.says)
		})
	}
}

// TestKeysOfOthers checks that a refusal shows a granular caller that may not get the object no
// protected key except those that are in the request.
func TestKeysOfOthers(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, tc := range map[string]struct {
		get               bool
		patch             string
		old, callerChange string
		says, hide        string
	}{
		"names it": {callerChange: envProd, old: bare, says: "labels[env]"},
		"leaves it out": {callerChange: bare, old: envProd,
			says: "cannot change .metadata.labels in namespace", hide: "env"},
		"leaves it out, may get": {get: true, callerChange: bare, old: envProd, says: "labels[env]"},
		"patches it away": {patch: `{"metadata":{"labels":{"env":null}}}`, callerChange: bare,
			old: envProd, says: "labels[env]"},
		"patches all away": {patch: `{"metadata":{"labels":null}}`, callerChange: bare, old: envProd,
			says: "cannot change .metadata.labels in namespace", hide: "env"},
		"patches all away, may get": {get: true, patch: `{"metadata":{"labels":null}}`, callerChange: bare,
			old: envProd, says: "labels[env]"},
		"its own is judged first": {callerChange: envProd, old: `{"labels": {"a": "b", "aa-hidden": "x"}}`,
			says: "labels[env]", hide: "aa-hidden"},
		"its own is judged, may get": {get: true, callerChange: envProd,
			old: `{"labels": {"a": "b", "aa-hidden": "x"}}`, says: "aa-hidden"},
	} {
		t.Run(name, func(t *testing.T) {
			hidden := protect.Entry{Name: "hidden", Kind: schema.Label, Key: "aa-hidden"}
			g := &questioned{grants: grants{allow: []string{"granular:labels"}}}
			if tc.get {
				g.allow = append(g.allow, "get")
			}
			ctx, marker := granular.WithMarker(contextOf("patch", target, "n", "x"))
			w := New(g, WithProtection(&inForce{set: protect.New(env, hidden)})).Begin(ctx, target)
			if tc.patch != "" {
				if err := w.Patch(ctx, types.MergePatchType, []byte(tc.patch)); err != nil {
					t.Fatal(err)
				}
			}
			err := goThrough(t, w, ctx, sentObject(t, podAt(tc.callerChange)), stored(t, podAt(tc.old)))
			err = w.RespondError(ctx, err)
			judged(t, err, marker, tc.says)
			if tc.hide != "" && strings.Contains(err.Error(), tc.hide) {
				t.Errorf("the refusal shows the hidden key: %v", err)
			}
		})
	}
}

// TestRollback checks that setting the rollback annotation of a Deployment is refused if any
// label is protected, because the rollback restores a template to which the caller may not be
// admitted. Keeping or removing the annotation is allowed.
//
// Attack: a rollback annotation of a Deployment that is created with it, or through its status
// Answer: 403
func TestRollback(t *testing.T) {
	const to1, to2 = `{"labels": {"a": "b"}, "annotations": {"deprecated.deployment.rollback.to": "1"}}`, `{"labels": {"a": "b"}, "annotations": {"deprecated.deployment.rollback.to": "2"}}`
	for name, tc := range map[string]struct {
		kind, resource, old, new string
		refused                  bool
	}{
		"asked for":                {"apps/v1/Deployment", "deployments", bare, to1, true},
		"created":                  {"apps/v1/Deployment", "deployments", "", to1, true},
		"asked for by the status":  {"apps/v1/Deployment", "deployments/status", bare, to1, true},
		"another":                  {"apps/v1/Deployment", "deployments", to2, to1, true},
		"done":                     {"apps/v1/Deployment", "deployments", to1, bare, false},
		"kept":                     {"apps/v1/Deployment", "deployments", to1, to1, false},
		"on what has no revisions": {"apps/v1/ReplicaSet", "replicasets", bare, to1, false},
	} {
		t.Run(name, func(t *testing.T) {
			target := endpoint(t, kindNamed(tc.kind), tc.resource)
			ctx := contextOf("update", target, "n", "x")
			var old apiruntime.Object
			if tc.old != "" {
				old = stored(t, at(tc.kind, `"metadata": PLACE`, tc.old))
			}
			for _, may := range []bool{false, true} {
				g := &questioned{}
				if may {
					g.allow = []string{BypassVerb}
				}
				w := New(g, WithProtection(&inForce{set: protect.New(env)})).Begin(ctx, target)
				says := ""
				if tc.refused && !may {
					says = "deprecated.deployment.rollback.to"
				}
				judged(t, goThrough(t, w, ctx, sentObject(t, at(tc.kind, `"metadata": PLACE`, tc.new)), old), nil, says)
			}
		})
	}
}
