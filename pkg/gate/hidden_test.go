// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/protect"
)

// TestKeysOfUpdates checks that a caller with update and without get learns no protected key that
// its request lacks: neither from a refusal nor from a warning. The authorizer is asked for get
// only if a message would contain such a key. A caller with patch sees the whole object anyway.
//
// Attack: an update that leaves out all labels, to learn from the refusal, or from the warning of mode Audit, which protected keys an object has
// Answer: 403 or a warning without the key, unless the caller may get the object
func TestKeysOfUpdates(t *testing.T) {
	const refused = "its key is not shown, because the request does not name it"
	const warned = "protected labels or annotations that the request does not name"
	for name, tc := range map[string]struct {
		verb, path, old, sent string
		allow                 []string
		audit                 bool
		says                  string
		hides                 bool
		asksGet               int
	}{
		"leaves it out":                   {old: envProd, sent: bare, says: refused, hides: true, asksGet: 1},
		"leaves it out, may get":          {old: envProd, sent: bare, allow: []string{"get"}, says: "labels[env]", asksGet: 1},
		"through the status":              {path: "pods/status", old: envProd, sent: bare, allow: []string{"get"}, says: "labels[env]", asksGet: 1},
		"leaves it out of a patch":        {verb: "patch", old: envProd, sent: bare, says: "labels[env]"},
		"names it":                        {old: bare, sent: envProd, says: "labels[env]"},
		"changes another":                 {old: envProd, sent: envProd2},
		"may bypass":                      {old: envProd, sent: bare, allow: []string{BypassVerb}},
		"audit, leaves it out":            {audit: true, old: envProd, sent: bare, says: warned, hides: true, asksGet: 1},
		"audit, leaves it out, may get":   {audit: true, old: envProd, sent: bare, allow: []string{"get"}, says: "labels[env]", asksGet: 1},
		"audit, leaves it out of a patch": {audit: true, verb: "patch", old: envProd, sent: bare, says: "labels[env]"},
		"audit, names it":                 {audit: true, old: bare, sent: envProd, says: "labels[env]"},
		"audit, changes another":          {audit: true, old: envProd, sent: envProd2},
	} {
		t.Run(name, func(t *testing.T) {
			verb, path, entry := tc.verb, tc.path, env
			if verb == "" {
				verb = "update"
			}
			if path == "" {
				path = "pods"
			}
			if tc.audit {
				entry = inAudit(env)
			}
			var warnings recorder
			of := endpoint(t, kindNamed("/v1/Pod"), path)
			ctx := warning.WithWarningRecorder(contextOf(verb, of, "n", "x"), &warnings)
			g := &questioned{grants: grants{allow: tc.allow}}
			w := New(g, WithProtection(&inForce{set: protect.New(entry)})).Begin(ctx, of)
			err := goThrough(t, w, ctx, sentObject(t, podAt(tc.sent)), stored(t, podAt(tc.old)))
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				w.Respond(ctx, stored(t, podAt(tc.sent)))
				said = strings.Join(warnings, "\n")
			}
			if (err != nil) != (tc.says != "" && !tc.audit) || !strings.Contains(said, tc.says) || tc.says == "" && said != "" {
				t.Errorf("got %q, wanted %q", said, tc.says)
			}
			if tc.hides && (strings.Contains(said, "env") || strings.Contains(said, "releaser")) {
				t.Errorf("it shows the hidden key: %s", said)
			}
			if n := asksFor(g, "get"); n != tc.asksGet {
				t.Errorf("asked for get %d times", n)
			}
		})
	}
}

// asksFor returns how often an authorizer was asked for a verb on a whole object.
func asksFor(g *questioned, verb string) (n int) {
	for _, a := range g.all {
		if a.GetVerb() == verb && a.GetSubresource() == "" {
			n++
		}
	}
	return n
}

// TestHiddenWithoutAnswer checks that a key stays hidden if the authorizer can't say whether the
// caller may get the object.
func TestHiddenWithoutAnswer(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx := contextOf("update", of, "n", "x")
	w := New(&questioned{grants: grants{fail: []string{"get"}}}, WithProtection(&inForce{set: protect.New(env)})).Begin(ctx, of)
	err := goThrough(t, w, ctx, sentObject(t, podAt(bare)), stored(t, podAt(envProd)))
	judged(t, err, nil, "its key is not shown")
}
