// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/pkg/cli/roletest/format"
)

func forbidden(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 403, Reason: "Forbidden", Message: message}}
}

const (
	atReplicas = `deployments.apps "web" is forbidden: User "jane" cannot change .spec.replicas in namespace "shop": needs one of the verbs "granular:replicas", "granular:specification"`
	atLabel    = `namespaces "shop" is forbidden: User "jane" cannot change .metadata.labels[env], a protected label: needs the verb "granular:protectedLabel(env)"`
	byRole     = `namespaces "shop" is forbidden: User "jane" cannot change .metadata.labels[env], a protected label: must be bound to ClusterRole "releasers"`
	whole      = `deployments.apps "web" is forbidden: User "jane" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`
	noDelete   = `deployments.apps "web" is forbidden: User "jane" cannot delete resource "deployments" in API group "apps" in the namespace "shop"`
	grant      = `clusterroles.rbac.authorization.k8s.io "a" is forbidden: user "jane" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held: {APIGroups:[""], Resources:["pods"], Verbs:["get"]}`
	byPolicy   = `configmaps "a" is forbidden: AuthorityDelegationPolicy "maps" delegates permissions that the author of the object must hold: user "jane" lacks create on secrets`
	selected   = `configmaps "a" is forbidden: the selected AuthorityDelegation has conditions, which can't be verified for this request`
	admission  = `pods "web" is forbidden: violates PodSecurity "restricted:latest": secret`
)

// TestOutcome holds which answers are the expected refusal. The field and one verb are compared, and never
// the text: each refusal is also tried with another order of its verbs.
func TestOutcome(t *testing.T) {
	for name, tc := range map[string]struct {
		want    *format.Refusal
		err     error
		outcome Outcome
	}{
		"allowed as expected":       {nil, nil, Passed},
		"allowed against it":        {&format.Refusal{Needs: "patch"}, nil, Failed},
		"refused against it":        {nil, forbidden(atReplicas), Failed},
		"field and verb":            {&format.Refusal{Field: ".spec.replicas", Needs: "granular:replicas"}, forbidden(atReplicas), Passed},
		"field and general verb":    {&format.Refusal{Field: ".spec.replicas", Needs: "granular:specification"}, forbidden(atReplicas), Passed},
		"field":                     {&format.Refusal{Field: ".spec.replicas"}, forbidden(atReplicas), Passed},
		"verb":                      {&format.Refusal{Needs: "granular:replicas"}, forbidden(atReplicas), Passed},
		"a field above":             {&format.Refusal{Field: ".spec"}, forbidden(atReplicas), Passed},
		"a part of a word":          {&format.Refusal{Field: ".spec.rep"}, forbidden(atReplicas), Failed},
		"a field below":             {&format.Refusal{Field: ".spec.replicas.a"}, forbidden(atReplicas), Failed},
		"another field, right verb": {&format.Refusal{Field: ".spec.paused", Needs: "granular:replicas"}, forbidden(atReplicas), Failed},
		"right field, another verb": {&format.Refusal{Field: ".spec.replicas", Needs: "granular:labels"}, forbidden(atReplicas), Failed},
		"a protected label":         {&format.Refusal{Field: ".metadata.labels", Needs: "granular:protectedLabel(env)"}, forbidden(atLabel), Passed},
		"the role of a label":       {&format.Refusal{Needs: "ClusterRole/releasers"}, forbidden(byRole), Passed},
		"another role of a label":   {&format.Refusal{Needs: "Role/releasers"}, forbidden(byRole), Failed},
		"an ordinary verb":          {&format.Refusal{Needs: "patch"}, forbidden(whole), Passed},
		"or granular":               {&format.Refusal{Needs: "granular"}, forbidden(whole), Passed},
		"granular does not delete":  {&format.Refusal{Needs: "granular"}, forbidden(noDelete), Failed},
		"a field of no field":       {&format.Refusal{Field: ".spec"}, forbidden(whole), Failed},
		"a grant":                   {&format.Refusal{Needs: "escalate"}, forbidden(grant), Passed},
		"a delegation":              {&format.Refusal{Needs: "delegation"}, forbidden(selected), Passed},
		"a policy":                  {&format.Refusal{Needs: "AuthorityDelegationPolicy/maps"}, forbidden(byPolicy), Passed},
		"another policy":            {&format.Refusal{Needs: "AuthorityDelegationPolicy/pods"}, forbidden(byPolicy), Failed},
		"a policy, no delegation":   {&format.Refusal{Needs: "delegation"}, forbidden(byPolicy), Failed},
		"a delegation, no policy":   {&format.Refusal{Needs: "AuthorityDelegationPolicy/maps"}, forbidden(selected), Failed},
		"admission":                 {&format.Refusal{Needs: "create"}, forbidden(admission), Error},
		"another code":              {&format.Refusal{Needs: "patch"}, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "a"), Error},
		"the text of another code":  {&format.Refusal{Needs: "patch"}, apierrors.NewBadRequest(whole), Error},
		"no status":                 {&format.Refusal{Needs: "patch"}, errors.New(whole), Error},
		"an unknown text":           {&format.Refusal{Needs: "patch"}, forbidden("no"), Error},
	} {
		got, answer := outcome(tc.want, tc.err)
		if got != tc.outcome || strings.Contains(answer, "secret") {
			t.Errorf("%s: %s (%s), wanted %s", name, got, answer, tc.outcome)
		}
		if tc.err == nil {
			continue
		}
		swapped := strings.Replace(tc.err.Error(), `"granular:replicas", "granular:specification"`, `"granular:specification", "granular:replicas"`, 1)
		if swapped != tc.err.Error() {
			if got, _ := outcome(tc.want, forbidden(swapped)); got != tc.outcome {
				t.Errorf("%s, verbs swapped: %s", name, got)
			}
		}
	}
}

// TestDropped holds which fields count as dropped by the server.
func TestDropped(t *testing.T) {
	wanted := map[string]any{
		"kept": "1000m", "gone": "x", "number": int64(3), "zero": int64(0), "no": false, "nothing": nil, "empty": map[string]any{}, "none": []any{},
		"list": []any{map[string]any{"a": "b", "c": "d"}, "e"}, "short": []any{"a", "b"}, "map": map[string]any{"in": map[string]any{"a": "b"}}, "text": map[string]any{"a": "b"},
	}
	stored := map[string]any{
		"kept": "1", "number": int64(4), "more": "y",
		"list": []any{map[string]any{"a": "b"}, "e", "f"}, "short": []any{"a"}, "map": map[string]any{}, "text": "a",
	}
	got := dropped(wanted, stored, "")
	slices.Sort(got)
	if want := []string{".gone", ".list[0].c", ".map.in", ".short", ".text"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := dropped(stored, stored, ""); len(got) > 0 {
		t.Errorf("%v of an object itself", got)
	}
}

// TestReasonHasNoValues holds that the reason of an error names fields, and none of their values.
func TestReasonHasNoValues(t *testing.T) {
	err := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil)
	err.ErrStatus.Message = `Pod "a" is invalid: spec.x: Invalid value: "secret"; strict decoding error: unknown field "spec.y"`
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.x", Message: `Invalid value: "secret"`}}
	if got := reason(err); got != `422 Invalid: spec.x Invalid, unknown field "spec.y"` {
		t.Error(got)
	}
}
