// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"runtime"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/protect"
)

// deepRevision returns a ControllerRevision whose data have a number of objects below a number of
// fields. Each object has one label.
func deepRevision(label string, depth, objects int) *appsv1.ControllerRevision {
	one := `{"metadata":{"labels":{` + label + `}}}`
	data := strings.Repeat(`{"a":`, depth) + "[" + strings.TrimSuffix(strings.Repeat(one+",", objects), ",") + "]" + strings.Repeat("}", depth)
	return &appsv1.ControllerRevision{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "n"},
		Data:       apiruntime.RawExtension{Raw: []byte(data)},
	}
}

// TestDeepRevisions checks what becomes of labels in the data of a ControllerRevision that are too
// deep or too many to compare: they count as protected, and an attribute in mode Audit only warns.
// If none of them has a protected key, there is no limit. The memory for a write does not grow with
// the depth times the number of labels.
func TestDeepRevisions(t *testing.T) {
	audited := env
	audited.Mode = protect.Audit
	const prod, says = `"env":"prod"`, "cannot change .data in namespace \"n\", a protected label: more than 1000 labels and annotations in it differ, or some are more than 128 levels deep, so some may be protected in the cluster"
	for name, tc := range map[string]struct {
		entry          protect.Entry
		label          string
		depth, objects int
		allow          []string
		says           string
		findings       int
	}{
		"within the bounds":    {entry: env, label: prod, depth: 100, objects: 10, says: "labels[env]"},
		"too deep":             {entry: env, label: prod, depth: 200, objects: 1, says: says},
		"too many":             {entry: env, label: prod, depth: 1, objects: 1001, says: says},
		"both":                 {entry: env, label: prod, depth: 9000, objects: 4000, says: says},
		"by who may bypass":    {entry: env, label: prod, depth: 9000, objects: 4000, allow: []string{BypassVerb}},
		"only in audit":        {entry: audited, label: prod, depth: 9000, objects: 4000, findings: 1},
		"of another key":       {entry: env, label: `"a":"b"`, depth: 9000, objects: 4000},
		"another kind of them": {entry: net, label: prod, depth: 9000, objects: 4000},
	} {
		t.Run(name, func(t *testing.T) {
			of := endpoint(t, kindNamed("apps/v1/ControllerRevision"), "controllerrevisions")
			ctx := contextOf("create", of, "n", "x")
			w := New(&questioned{grants: grants{allow: tc.allow}}, WithProtection(&inForce{set: protect.New(tc.entry)})).Begin(ctx, of)
			revision := deepRevision(tc.label, tc.depth, tc.objects)
			verifyOnce := func() { judged(t, goThrough(t, w, ctx, revision.DeepCopy(), nil), nil, tc.says) }
			verifyOnce()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			verifyOnce()
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("%d bytes", used)
			}
			if n := len(w.(*guarded).labels.outcome.Load().findings); n != tc.findings {
				t.Errorf("%d findings", n)
			}
		})
	}
}
