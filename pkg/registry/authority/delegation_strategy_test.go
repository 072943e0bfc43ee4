// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

var newDelegationStrategy = delegationStrategy{strategy{ObjectTyper: legacyscheme.Scheme, scope: true}}

// TestDelegationUpdate holds that an update keeps the status, except that an earlier end of the
// specification ends the delegation earlier, and never later.
func TestDelegationUpdate(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	for name, tc := range map[string]struct {
		spec, status, want *metav1.Time
	}{
		"no end":                    {nil, nil, nil},
		"of the specification":      {&early, nil, &early},
		"earlier than the status":   {&early, &late, &early},
		"as the status":             {&early, &early, &early},
		"later than the status":     {&late, &early, &early},
		"of the status alone":       {nil, &late, &late},
		"zero, which is no time":    {&metav1.Time{}, nil, nil},
		"zero, beside the status's": {&metav1.Time{}, &late, &late},
	} {
		old := delegationOf("a")
		old.Generation, old.Status.Delegator.Username, old.Status.ExpirationTimestamp = 4, "jane", tc.status
		next := old.DeepCopyObject().(*authority.AuthorityDelegation)
		next.Spec.ExpirationTimestamp = tc.spec
		next.Generation, next.Status = 9, v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "forged"}}
		newDelegationStrategy.PrepareForUpdate(t.Context(), next, old)
		if got := next.Status.ExpirationTimestamp; next.Status.Delegator.Username != "jane" || (got == nil) != (tc.want == nil) || got != nil && !got.Equal(tc.want) {
			t.Errorf("%s: status %+v, want the end %v", name, next.Status, tc.want)
		}
		generation := int64(4)
		if tc.spec != nil {
			generation++
		}
		if next.Generation != generation {
			t.Errorf("%s: generation %d, want %d", name, next.Generation, generation)
		}
	}
	if newDelegationStrategy.NamespaceScoped() {
		t.Error("delegations are in namespaces")
	}
}

// TestDelegationValidation holds what only the server can validate: names that belong to policies,
// and expressions. One that is too long is refused, and not compiled.
func TestDelegationValidation(t *testing.T) {
	long := strings.Repeat("!", v1alpha1.MaxExpressionLength)
	conditions := func(expressions ...string) func(*authority.AuthorityDelegation) {
		return func(d *authority.AuthorityDelegation) {
			for _, e := range expressions {
				d.Spec.Conditions = append(d.Spec.Conditions, v1alpha1.DelegationCondition{Expression: e})
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*authority.AuthorityDelegation)
		want   []string
	}{
		"valid":                             {func(*authority.AuthorityDelegation) {}, nil},
		"no delegates":                      {func(d *authority.AuthorityDelegation) { d.Spec.Delegates = nil }, []string{"spec.delegates: must name"}},
		"a name of a policy":                {func(d *authority.AuthorityDelegation) { d.Name = "by-policy-x" }, []string{`metadata.name: must not begin with "by-policy-"`}},
		"a condition":                       {conditions("object != oldObject"), nil},
		"a condition that does not compile": {conditions("true", "object.("), []string{"spec.conditions[1].expression: "}},
		"one byte too long":                 {conditions(long + "!"), []string{"spec.conditions[0].expression: may not be more"}},
		"as long as it may be":              {conditions(long), []string{"spec.conditions[0].expression: "}},
		"too long together":                 {conditions(long, long, "object.("), []string{"spec.conditions[0].expression: ", "spec.conditions[1].expression: ", "spec.conditions[2].expression: the expressions of all conditions together"}},
	} {
		d := delegationOf("a")
		tc.change(d)
		errs := newDelegationStrategy.Validate(t.Context(), d)
		var got []string
		for _, err := range errs {
			got = append(got, err.Field+": "+err.Detail)
		}
		matches := len(got) == len(tc.want)
		for i := range tc.want {
			found := false
			for _, text := range got {
				found = found || strings.HasPrefix(text, tc.want[i])
			}
			matches = matches && found
		}
		if !matches {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	old, next := delegationOf("a"), delegationOf("a")
	old.ResourceVersion, next.ResourceVersion = "1", "1"
	next.Spec.Scope = v1alpha1.DelegationScope{Cluster: true}
	if errs := newDelegationStrategy.ValidateUpdate(t.Context(), next, old); len(errs) != 1 || errs[0].Field != "spec" {
		t.Errorf("a change of the scope: %v", errs)
	}
}

// TestDelegationWarnings holds that a delegation which nothing ends is warned of.
func TestDelegationWarnings(t *testing.T) {
	idle, end := int64(60), metav1.Now()
	for name, tc := range map[string]struct {
		change func(*authority.AuthorityDelegation)
		warns  bool
	}{
		"kept, without an end":      {func(d *authority.AuthorityDelegation) { d.Spec.IfLost = v1alpha1.LossKeep }, true},
		"withdrawn, without an end": {func(*authority.AuthorityDelegation) {}, false},
		"kept, with an end": {func(d *authority.AuthorityDelegation) {
			d.Spec.IfLost, d.Status.ExpirationTimestamp = v1alpha1.LossKeep, &end
		}, false},
		"kept while it is used": {func(d *authority.AuthorityDelegation) { d.Spec.IfLost, d.Spec.IdleSeconds = v1alpha1.LossKeep, &idle }, false},
	} {
		d := delegationOf("a")
		d.Status.Delegator.Username = "jane"
		tc.change(d)
		warnings := newDelegationStrategy.WarningsOnCreate(t.Context(), d)
		if (len(warnings) == 1) != tc.warns || tc.warns && !strings.Contains(warnings[0], `if user "jane" loses`) {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}
