// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package lns

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/tenancy/api/v1alpha1"
)

// TestAdditionWithEnd checks what is sent for somebody with an end, beside entries that are there. An end never shortens
// what somebody has, and says so.
func TestAdditionWithEnd(t *testing.T) {
	const now, later = "2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"
	ada := map[string]any{"kind": "User", "name": "ada"}
	with := func(until string) map[string]any { return map[string]any{"name": "ada", "until": until} }
	group := map[string]any{"kind": "Group", "name": "ada"}
	for name, tc := range map[string]struct {
		entries []any
		until   string
		want    string
	}{
		"nobody is there": {nil, now,
			`[{"op":"add","path":"/spec","value":{"users":[{"kind":"User","name":"ada","until":"` + now + `"}]}}]`},
		"somebody else": {[]any{group}, now,
			`[{"op":"add","path":"/spec/users/-","value":{"kind":"User","name":"ada","until":"` + now + `"}}]`},
		"the same end": {[]any{group, map[string]any{"kind": "User", "name": "ada", "until": now}}, now, `null`},
		"an earlier end": {[]any{group, with(now)}, later,
			`[{"op":"replace","path":"/spec/users/1/until","value":"` + later + `"}]`},
		"an end in another zone": {[]any{with("2027-01-01T01:00:00+01:00")}, now,
			`[{"op":"replace","path":"/spec/users/0/until","value":"` + now + `"}]`},
		"an end that can't be read":  {[]any{with("soon")}, now, `[{"op":"replace","path":"/spec/users/0/until","value":"` + now + `"}]`},
		"no end, beside one":         {[]any{with(now)}, "", `[{"op":"add","path":"/spec/users/-","value":{"kind":"User","name":"ada"}}]`},
		"a later end":                {[]any{with(later)}, now, "error"},
		"no end":                     {[]any{ada}, now, "error"},
		"an earlier end, and no end": {[]any{ada, with(now)}, later, "error"},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "books"}}}
		if tc.entries != nil {
			object.Object["spec"] = map[string]any{"users": tc.entries}
		}
		operations, err := addition(object, "users", []v1alpha1.Subject{{Kind: v1alpha1.UserKind, Name: "ada", Until: tc.until}})
		if tc.want == "error" {
			const want = `spec.users has User "ada" already, and its entry ends later or never; remove it first: kubectl lns remove books users ada`
			if err == nil || !strings.HasSuffix(err.Error(), want) || operations != nil {
				t.Errorf("%s: %v, %v", name, operations, err)
			}
			continue
		}
		got, failed := json.Marshal(operations)
		if err != nil || failed != nil || string(got) != tc.want {
			t.Errorf("%s: %v, %s", name, err, got)
		}
	}
}
