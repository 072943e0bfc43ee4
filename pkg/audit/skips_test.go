// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"
	"testing"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
)

// audited returns a context with an audit event of a level.
func audited(t *testing.T, level auditinternal.Level) context.Context {
	t.Helper()
	ctx := audit.WithAuditContext(t.Context())
	if err := audit.AuditContextFrom(ctx).Init(audit.RequestAuditConfig{Level: level}, nil); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// TestSkips checks that one annotation lists the names of the webhooks that one question skips, each
// once, and that other questions add nothing.
func TestSkips(t *testing.T) {
	for name, tc := range map[string]struct {
		skipped []string
		want    string
	}{
		"none":       {},
		"one":        {[]string{"a"}, "a"},
		"two":        {[]string{"b", "a"}, "b a"},
		"repeatedly": {[]string{"b", "a", "b"}, "b a"},
		"very many":  {[]string{strings.Repeat("x", 1500), strings.Repeat("y", 1500), "z"}, strings.Repeat("x", 1500) + " ...+2"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := audited(t, auditinternal.LevelMetadata)
			asking, asked := Skips{}.Record(ctx)
			for _, webhook := range tc.skipped {
				Skips{}.Add(asking, webhook)
			}
			Skips{}.Add(ctx, "other")
			asked()
			got, ok := audit.AuditContextFrom(ctx).GetEventAnnotation(SkippedAnnotation)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("got %q, %t", got, ok)
			}
		})
	}
}

// TestSkipsUnaudited checks that nothing is allocated for a request without an audit event.
func TestSkipsUnaudited(t *testing.T) {
	for name, ctx := range map[string]context.Context{"no audit": t.Context(), "no event": audited(t, auditinternal.LevelNone)} {
		if got := testing.AllocsPerRun(100, func() {
			asking, asked := Skips{}.Record(ctx)
			Skips{}.Add(asking, "a")
			asked()
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
