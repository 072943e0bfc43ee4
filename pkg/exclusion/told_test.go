// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-base/metrics/legacyregistry"

	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/metrics"
)

var registered = sync.OnceFunc(metrics.Register)

// counts returns how many updates were counted, by result.
func counts(t *testing.T) map[string]int {
	registered()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, family := range families {
		if strings.HasSuffix(family.GetName(), "_exclusion_updates_total") {
			for _, m := range family.GetMetric() {
				out[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
			}
		}
	}
	return out
}

// spec returns the fields of .spec in the schema of a definition.
func spec(b *apiextensions.CustomResourceDefinition) map[string]apiextensions.JSONSchemaProps {
	return b.Spec.Validation.OpenAPIV3Schema.Properties["spec"].Properties
}

func many(excluded bool, count int) *apiextensions.CustomResourceDefinition {
	var fields []string
	for i := range count {
		fields = append(fields, fmt.Sprintf("secret%02d", i))
	}
	return box(excluded, fields...)
}

// TestTold checks what the audit log and the metrics tell about an update that weakens an exclusion: the
// fields, each once, and one count of an update that is stored, and of each refusal.
func TestTold(t *testing.T) {
	twice := func(b *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
		second := b.Spec.Versions[0]
		second.Name, second.Storage = "v2", false
		b.Spec.Versions = append(b.Spec.Versions, second)
		return b
	}
	for _, test := range []struct {
		name            string
		updated, stored *apiextensions.CustomResourceDefinition
		decision        authorizer.Decision
		dryRun          bool
		annotations     map[string]string
		counts          map[string]int
	}{
		{"held", box(false, "secret"), box(true, "secret"), authorizer.DecisionAllow, false,
			map[string]string{ours.OpenedAnnotation: ".spec.secret .spec.versions"}, map[string]int{"opened": 1}},
		{"held, in two versions", twice(box(false, "secret")), twice(box(true, "secret")), authorizer.DecisionAllow, false,
			map[string]string{ours.OpenedAnnotation: ".spec.secret .spec.versions"}, map[string]int{"opened": 1}},
		{"held, a dry run", box(false, "secret"), box(true, "secret"), authorizer.DecisionAllow, true,
			map[string]string{ours.OpenedAnnotation: ".spec.secret .spec.versions"}, map[string]int{}},
		{"not held", box(false, "secret"), box(true, "secret"), authorizer.DecisionNoOpinion, false,
			map[string]string{ours.KeptAnnotation: ".spec.secret .spec.versions"}, map[string]int{"kept": 1}},
		{"not held, a dry run", box(false, "secret"), box(true, "secret"), authorizer.DecisionNoOpinion, true,
			map[string]string{ours.KeptAnnotation: ".spec.secret .spec.versions"}, map[string]int{}},
		{"refused", box(true, "other"), box(true, "secret"), authorizer.DecisionNoOpinion, false,
			map[string]string{ours.MissingAnnotation: Verb}, map[string]int{"refused": 1}},
		{"nothing is weakened", box(true, "secret", "other"), box(true, "secret"), authorizer.DecisionNoOpinion, false,
			nil, map[string]int{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := upstreamaudit.WithAuditContext(requestContext(&warned{}))
			config := upstreamaudit.RequestAuditConfig{Level: audit.LevelMetadata}
			if err := upstreamaudit.AuditContextFrom(ctx).Init(config, nil); err != nil {
				t.Fatal(err)
			}
			before := counts(t)
			u := guard().Begin(&answering{decision: test.decision})
			if _, err := u.Keep(ctx, test.updated, test.stored); err == nil {
				u.Stored(ctx, test.dryRun)
			}
			after := counts(t)
			for result, n := range before {
				after[result] -= n
			}
			maps.DeleteFunc(after, func(_ string, n int) bool { return n == 0 })
			if d := cmp.Diff(test.counts, after); d != "" {
				t.Errorf("counted: %s", d)
			}
			for _, annotation := range []string{ours.OpenedAnnotation, ours.KeptAnnotation, ours.MissingAnnotation} {
				got, _ := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(annotation)
				if want := test.annotations[annotation]; got != want {
					t.Errorf("%s: %q, want %q", annotation, got, want)
				}
			}
		})
	}
}

// TestListsAreLimited checks that a warning and a refusal list ten fields, and say how many more there
// are. With ten fields there are no more.
func TestListsAreLimited(t *testing.T) {
	for count, more := range map[int]string{maxNamed: "", maxNamed + 1: "; and 1 more"} {
		var warnings warned
		ctx := requestContext(&warnings)
		u := guard().Begin(&answering{decision: authorizer.DecisionAllow})
		updated := many(false, count)
		spec(updated)["other"] = spec(box(true, "other"))["other"]
		if _, err := u.Keep(ctx, updated, many(true, count)); err != nil {
			t.Fatal(err)
		}
		u.Stored(ctx, false)
		last := fmt.Sprintf(".spec.secret%02d is no longer excluded%s", maxNamed-1, more)
		beyond := fmt.Sprintf("secret%02d", maxNamed)
		if len(warnings) != 1 || !strings.HasSuffix(warnings[0], last) || strings.Contains(warnings[0], beyond) {
			t.Errorf("%d fields: warned of %q", count, warnings)
		}
		_, err := guard().Begin(&answering{}).Keep(ctx, box(true, "other"), many(true, count))
		var status apierrors.APIStatus // with a cause for each field that is named, for the user, and for the verb
		if !errors.As(err, &status) || len(status.Status().Details.Causes) != maxNamed+2 ||
			strings.HasSuffix(err.Error(), "; and 1 more") != (more != "") {
			t.Errorf("%d fields: refused with %v", count, err)
		}
	}
}

// TestInvalidAnyway checks that a definition that is not valid is refused for that: to keep the stored
// extensions would not make it valid.
func TestInvalidAnyway(t *testing.T) {
	updated, wrong := box(false, "secret"), "not a name"
	spec(updated)["extra"] = apiextensions.JSONSchemaProps{Type: "string", XPermissionVerb: &wrong}
	_, err := guard().Begin(&answering{}).Keep(requestContext(&warned{}), updated, box(true, "secret"))
	if !apierrors.IsInvalid(err) {
		t.Errorf("got %v", err)
	}
}

// TestNobody checks that a request without a user is refused too.
func TestNobody(t *testing.T) {
	_, err := guard().Begin(&answering{}).Keep(context.Background(), box(true, "other"), box(true, "secret"))
	if err == nil {
		t.Error("a request without a user removes an excluded field")
	}
}

// TestEachAttempt checks that what an earlier attempt of the storage opened or kept is not told of the
// last one.
func TestEachAttempt(t *testing.T) {
	for _, decision := range []authorizer.Decision{authorizer.DecisionAllow, authorizer.DecisionNoOpinion} {
		var warnings warned
		ctx := requestContext(&warnings)
		u := guard().Begin(&answering{decision: decision})
		for _, stored := range []*apiextensions.CustomResourceDefinition{box(true, "secret"), box(false, "secret")} {
			if _, err := u.Keep(ctx, box(false, "secret"), stored); err != nil {
				t.Fatal(err)
			}
		}
		if u.Stored(ctx, false); len(warnings) > 0 {
			t.Errorf("decision %v: warned of %q", decision, warnings)
		}
	}
	var warnings warned
	ctx := requestContext(&warnings)
	renamed := box(true, "secret")
	renamed.Status.AcceptedNames.Plural = "others"
	u := guard().Begin(&answering{decision: authorizer.DecisionAllow})
	for _, stored := range []*apiextensions.CustomResourceDefinition{box(true, "secret"), renamed} {
		if _, err := u.KeepStatus(ctx, renamed, stored); err != nil {
			t.Fatal(err)
		}
	}
	if u.Stored(ctx, false); len(warnings) > 0 {
		t.Errorf("a status: warned of %q", warnings)
	}
}

// TestOwnerOfAChange checks that an update which changes anything but times is stored with the owners
// that it has: metadata, or another owner.
func TestOwnerOfAChange(t *testing.T) {
	for name, change := range map[string]func(*apiextensions.CustomResourceDefinition){
		"a label":       func(b *apiextensions.CustomResourceDefinition) { b.Labels = map[string]string{"a": "b"} },
		"another owner": func(b *apiextensions.CustomResourceDefinition) { b.ManagedFields[0].Manager = "other" },
		"one owner more": func(b *apiextensions.CustomResourceDefinition) {
			b.ManagedFields = append(b.ManagedFields, metav1.ManagedFieldsEntry{Manager: "other"})
		},
	} {
		stored := withOwner(box(true, "secret"), box(true, "secret"), true)
		updated := box(true, "secret")
		updated.ResourceVersion = "7"
		if got := withOwner(updated, stored, true).ManagedFields; &got[0] != &stored.ManagedFields[0] {
			t.Errorf("%s: nothing changes, and the managed fields are %v", name, got)
		}
		changed := box(true, "secret")
		change(changed)
		if got := withOwner(changed, stored, true).ManagedFields; &got[0] == &stored.ManagedFields[0] {
			t.Errorf("%s: the stored managed fields stay", name)
		}
	}
}
